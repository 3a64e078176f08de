package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Lock returns the lock at path, which is not taken yet. Where something is
// there already it must be a file that Open opens: to open a pipe would wait
// for ever. A file that is missing is made (0600) when the lock is taken.
func Lock(path string) (*flock.Flock, error) {
	if err := CheckFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return flock.New(path, flock.SetPermissions(0o600)), nil
}

// IsHeld reports whether somebody holds the lock at path. One that is not there
// is held by nobody, and is not made.
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
