package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/plainfile"
)

// TryLockDir returns nil: Windows cannot lock a directory.
func TryLockDir(string) (*os.File, error) { return nil, nil }

// LockFile is a lock, which no other process can inherit.
type LockFile = *Lock

// AwaitLockFile is AwaitLock. On Windows no process can inherit the lock.
func AwaitLockFile(ctx context.Context, path string) (LockFile, error) { return AwaitLock(ctx, path) }

// renameTime is how long rename waits for those who read the old file.
const renameTime = 2 * time.Second

// rename is os.Rename, but waits for those who have the old file open: not every
// file system replaces such a file.
func rename(from, to string) error {
	for deadline := time.Now().Add(renameTime); ; time.Sleep(lockPause) {
		err := os.Rename(from, to)
		if err == nil || !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) || time.Now().After(deadline) {
			return err
		}
	}
}

// removeTime is how long RemoveAll waits for the processes that hold a file.
const removeTime = 5 * time.Second

// RemoveAll is os.RemoveAll, but waits for files that a process holds which is
// about to end: no event tells that a file was closed.
func RemoveAll(path string) error {
	for deadline := time.Now().Add(removeTime); ; time.Sleep(lockPause) {
		err := os.RemoveAll(path)
		if err == nil || !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) || time.Now().After(deadline) {
			return err
		}
	}
}

// SyncDir does nothing: a directory cannot be synced, and the file system logs a
// rename.
func SyncDir(string) error { return nil }

// Survey checks root and everything below it, and returns the problems: files with
// another owner, files that others can write, and links. Of parts it does not enter the
// opaque ones. Missing files are no problem.
func Survey(root string, parts ...Part) (found []Problem) {
	visit := func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				found = append(found, Problem{Path: path, What: "cannot be looked at: " + err.Error()})
			}
			return nil
		}
		if kind := entry.Type(); kind != 0 && kind != fs.ModeDir {
			found = append(found, Problem{Path: path, What: "is " + plainfile.Kind(kind) + "; find out who put it there, and remove it"})
		} else if p := judgeACL(path, write, true); p != nil {
			found = append(found, *p)
		}
		if part := partOf(parts, path); part != nil && part.Opaque && entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	_ = filepath.WalkDir(root, visit) // visit returns no error
	return found
}

// LooserThan returns nil: a file has the access list of its directory.
func LooserThan(string, fs.FileInfo, fs.FileInfo) *Problem { return nil }

// CanMake returns nil: Windows does not tell beforehand.
func CanMake(string) error { return nil }

// Harden keeps Windows from showing a dialog, and from keeping a picture of this
// process's memory, when it fails. Another user cannot read its memory anyway.
func Harden() error {
	windows.SetErrorMode(windows.SEM_FAILCRITICALERRORS | windows.SEM_NOGPFAULTERRORBOX)
	return nil
}

// CoreLimit returns 0: Windows writes no core files.
func CoreLimit() uint64 { return 0 }

// SessionUmask returns its argument: Windows has no umask.
func SessionUmask(starter int) int { return starter }

// CheckSocket returns errors.ErrUnsupported: SSH agents have no Unix sockets on
// Windows.
func CheckSocket(path string) error {
	return fmt.Errorf("socket %s: %w", path, errors.ErrUnsupported)
}

// ReplaceLink returns errors.ErrUnsupported.
func ReplaceLink(_, path string) error {
	return fmt.Errorf("make link %s: %w", path, errors.ErrUnsupported)
}
