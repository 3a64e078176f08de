package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Lock returns the lock at path, without taking it. A file that exists must pass
// CheckFile, because an open of a pipe would block for ever. A missing file is
// made (0600) when the lock is taken.
func Lock(path string) (*flock.Flock, error) {
	if err := CheckFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return flock.New(path, flock.SetPermissions(0o600)), nil
}

// IsHeld reports whether a process holds the lock at path. A missing file is not
// held; IsHeld does not make it.
func IsHeld(path string) (bool, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	defer lock.Close()
	free, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("try %s: %w", path, err)
	}
	return !free, nil
}
