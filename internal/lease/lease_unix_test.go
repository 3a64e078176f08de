//go:build unix

package lease_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/lease"
	"middleman/internal/private"
)

func TestTake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	held, err := lease.Take(dir, "w1")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := lease.Take(dir, "w1"); !errors.Is(err, private.ErrHeld) {
		t.Errorf("a second time: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err = lease.Take(dir, "w1"); err != nil {
		t.Fatal(err)
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A lease that another user could have taken or put there proves nothing.
func TestTakeRefusesUnsafePlaces(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"is writable by others":             func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o770)) },
		"is a symbolic link, not a":         func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) },
		"w1 is a symbolic link, not a file": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Symlink("x", dir+"/w1")) },
	} {
		dir := filepath.Join(t.TempDir(), "leases")
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Take(dir, "w1"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}
