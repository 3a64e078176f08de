package private_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

// An error that blames no other process stays as it is. One that does says what to do,
// though nobody is known to have a file open: Windows does not tell whose current directory
// it is.
func TestWhoHoldsNobody(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, err := range []error{nil, fs.ErrNotExist, &fs.PathError{Op: "rename", Path: dir, Err: windows.ERROR_ACCESS_DENIED}} {
		if got := private.WhoHolds(err, dir); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	held := &fs.PathError{Op: "rename", Path: dir, Err: windows.ERROR_SHARING_VIOLATION}
	if got := private.WhoHolds(held, dir); !errors.Is(got, windows.ERROR_SHARING_VIOLATION) || !strings.Contains(got.Error(), "current directory") {
		t.Errorf("%v became %v", held, got)
	}
}

// A directory with a file that a process has open cannot be renamed, and the error
// names the process.
func TestWhoHolds(t *testing.T) {
	testenv.NotUnderWine(t, "its Restart Manager knows no process")
	dir := filepath.Join(t.TempDir(), "dir")
	must(t, os.MkdirAll(filepath.Join(dir, "below"), 0o700))
	f, err := os.Create(filepath.Join(dir, "below", "held"))
	must(t, err)
	defer f.Close()
	err = os.Rename(dir, dir+"2")
	if err == nil {
		t.Fatal("the directory was renamed")
	}
	told := private.WhoHolds(err, dir)
	if !errors.Is(told, errors.Unwrap(err)) || !strings.Contains(told.Error(), fmt.Sprintf("(process %d)", os.Getpid())) {
		t.Errorf("the error is %v", told)
	}
}
