package scratch_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"middleman/internal/scratch"
)

func made(t *testing.T, kind string) *scratch.Dir {
	t.Helper()
	d, err := scratch.Make(kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// What a process that has ended left is removed. What is used, or could be just being
// made, stays.
func TestSweep(t *testing.T) {
	top := filepath.Join(t.TempDir(), "scratch")
	scratch.Use(top)
	t.Cleanup(func() { scratch.Use("") })
	if err := scratch.Sweep(); err != nil {
		t.Fatalf("before there is any: %v", err)
	}
	used, young := made(t, "look"), filepath.Join(top, "look-1")
	left, unlocked := filepath.Join(top, "index-2"), filepath.Join(top, "look-3")
	old := time.Now().Add(-time.Hour)
	var err error
	for _, path := range []string{young, left, unlocked} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(path, "objects"), 0o700))
	}
	for _, path := range []string{young, left} {
		err = errors.Join(err, os.WriteFile(filepath.Join(path, "middleman.lock"), nil, 0o600))
	}
	for _, path := range []string{left, unlocked, used.Path} {
		err = errors.Join(err, os.Chtimes(path, old, old))
	}
	if err = errors.Join(err, scratch.Sweep()); err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{used.Path: true, young: true, left: false, unlocked: false} {
		if isThere(path) != stays {
			t.Errorf("%s stays: %t, want %t", path, !stays, stays)
		}
	}
	used.Close()
	if isThere(used.Path) {
		t.Error("a closed directory stays")
	}
}

// A directory for temporary files in which another user can replace ours is not used.
func TestUnsafeTemporaryDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who may write is another matter there")
	}
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	if err := os.Chmod(top, 0o777); err != nil {
		t.Fatal(err)
	}
	if d, err := scratch.Make("look"); err == nil || !strings.Contains(err.Error(), top+" is writable by others") || !strings.Contains(err.Error(), "unset TMPDIR") {
		t.Errorf("made %v in a loose directory: %v", d, err)
	}
	if err := os.Chmod(top, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	made(t, "look")
}
