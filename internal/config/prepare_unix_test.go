//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrepare(t *testing.T) {
	home := t.TempDir()
	d := Dirs{Data: filepath.Join(home, "data"), Runtime: filepath.Join(home, "run")}
	for range 2 {
		if err := d.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{d.Data, d.Runtime} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v, want 0700", dir, info.Mode(), err)
		}
	}

	if err := os.Chmod(d.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := d.Prepare(); err == nil || !strings.Contains(err.Error(), d.Data) {
		t.Errorf("writable by others: error %v, want one that names the path", err)
	}
	if err := os.Chmod(d.Data, 0o700); err != nil {
		t.Fatal(err)
	}

	link := filepath.Join(home, "link")
	if err := os.Symlink(d.Data, link); err != nil {
		t.Fatal(err)
	}
	if err := CheckPrivate(link); err == nil {
		t.Error("a symbolic link passed")
	}
}
