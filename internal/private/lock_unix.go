//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TryLockDir takes the lock on a directory, whoever owns it. It does not wait: if
// the lock is held, the error is ErrHeld. The lock ends when the file is closed
// here and in all processes that inherited it. The file is nil on Windows, which
// cannot lock a directory.
func TryLockDir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// LockFile is a lock as a file, which a child can inherit. On Windows none can.
type LockFile = *os.File

// AwaitLockFile is AwaitLock, but returns the locked file, which children and an
// image that this process executes can inherit. The lock ends when the file is
// closed in all of them.
func AwaitLockFile(ctx context.Context, path string) (LockFile, error) {
	return await(ctx, path, TryLockFile)
}

// TryLockFile is AwaitLockFile, but does not wait: if the lock is held, the error
// is ErrHeld.
func TryLockFile(path string) (*os.File, error) {
	f, err := open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("take lock: %w", err)
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// lock locks f without waiting, or returns ErrHeld.
func lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrHeld
		default:
			return err
		}
	}
}
