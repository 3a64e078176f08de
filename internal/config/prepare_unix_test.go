//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

func TestPrepare(t *testing.T) {
	home := testenv.ShortDir(t)
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
	if err := (Dirs{Data: link, Runtime: d.Runtime}).Prepare(); err == nil {
		t.Error("a symbolic link passed")
	}
}

// All that is wrong is said at once, each thing once, with what to do.
func TestCheck(t *testing.T) {
	home := testenv.ShortDir(t)
	d := Dirs{Data: filepath.Join(home, "data"), Runtime: filepath.Join(home, "run"), Config: filepath.Join(home, "config")}
	if err := d.Check(); err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.Config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.File(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(); err != nil {
		t.Errorf("all is in order: %v", err)
	}
	for path, mode := range map[string]os.FileMode{home: 0o777, d.Runtime: 0o702, d.Config: 0o702, d.File(): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	err := d.Check()
	if err == nil {
		t.Fatal("it passed")
	}
	for _, path := range []string{home, d.Runtime, d.Config, d.File()} {
		if n := strings.Count(err.Error(), path+" is writable by others"); n != 1 {
			t.Errorf("%s is named %d times: %v", path, n, err)
		}
	}
	if want := "run: chmod go-w " + strings.Join([]string{home, d.Runtime, d.Config, d.File()}, " "); !strings.Contains(err.Error(), want) {
		t.Errorf("%v: want %q", err, want)
	}
}

func TestCheckOfAnothersHome(t *testing.T) {
	testenv.NeedRoot(t, "give a directory to another user")
	for _, variable := range []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"} {
		t.Run(variable, func(t *testing.T) {
			home := testenv.ShortDir(t)
			if err := os.Chown(home, 61234, -1); err != nil {
				t.Fatal(err)
			}
			t.Setenv("MIDDLEMAN_HOME", "")
			t.Setenv(variable, home)
			d := Dirs{Data: filepath.Join(testenv.ShortDir(t), "data"), Runtime: filepath.Join(home, "run"), Config: "/nonexistent"}
			err := d.Check()
			if err == nil {
				t.Fatal("it passed")
			}
			for _, want := range []string{home + " belongs to user 61234, and you are user 0", "unset " + variable, "su -"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: want %q", err, want)
				}
			}
		})
	}
}

func TestTighten(t *testing.T) {
	home := testenv.ShortDir(t)
	d := Dirs{Data: filepath.Join(home, "data"), Runtime: filepath.Join(home, "run")}
	if notes, err := d.Tighten(); err != nil || len(notes) > 0 {
		t.Errorf("nothing is there: %q, %v", notes, err)
	}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.Data, 0o750); err != nil {
		t.Fatal(err)
	}
	notes, err := d.Tighten()
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], d.Data+" (mode 0750): their permissions were removed") {
		t.Errorf("notes %q, %v", notes, err)
	}
	if info, err := os.Stat(d.Data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
