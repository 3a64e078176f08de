//go:build unix

package private

import (
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
	if err := lock(f, true); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// lock locks f without waiting, or returns ErrHeld.
func lock(f *os.File, alone bool) error {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrHeld
		default:
			return err
		}
	}
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
