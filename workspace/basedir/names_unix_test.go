//go:build unix

package basedir

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A directory that is deeper than there can be open files is removed too.
func TestRemoveDeep(t *testing.T) {
	base, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	root := base
	for n := 0; err == nil && n < 1000; n++ {
		var inner *os.Root
		if err = root.Mkdir("d", 0o700); err == nil {
			inner, err = root.OpenRoot("d")
		}
		if root != base {
			err = errors.Join(err, root.Close())
		}
		root = inner
	}
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
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
	if err := errors.Join(RemoveAll(base, "d"), RemoveAll(base, "d")); err != nil {
		t.Errorf("%.200v", err)
	}
	if _, err := base.Lstat("d"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %.200v", err)
	}
}
