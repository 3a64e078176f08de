//go:build unix

package private

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What a program may leave is removed: directories without rights, names of any kind, links,
// and directories that are deeper than there can be open files. What links lead to stays.
func TestRemoveTree(t *testing.T) {
	top := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{top, "tree"}, parts...)...) }
	outside := filepath.Join(top, "outside")
	for _, err := range []error{
		os.MkdirAll(at("locked", "inner", "more"), 0o700), os.MkdirAll(at("a\xff\nb", "c"), 0o700), os.MkdirAll(outside, 0o700),
		os.WriteFile(at("locked", "inner", "file"), nil, 0), os.WriteFile(filepath.Join(outside, "file"), nil, 0o600),
		os.Symlink(outside, at("link")), os.Symlink(outside, at("locked", "link")),
		os.Chmod(at("locked", "inner"), 0), os.Chmod(at("locked"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(at())
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = min(few.Cur, 500)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) // as it was
	const depth = 2000
	for n := 0; err == nil && n < depth; n++ {
		var inner *os.Root
		if err = root.Mkdir("d", 0o700); err == nil {
			inner, err = root.OpenRoot("d")
		}
		err = errors.Join(err, root.Close())
		root = inner
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTree(at()); err != nil {
		t.Errorf("%.200v", err)
	}
	if _, err := os.Lstat(at()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %.200v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(RemoveTree(at()), RemoveTree(filepath.Join(top, "none", "none"))); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}
