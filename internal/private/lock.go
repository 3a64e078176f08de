package private

import (
	"errors"
	"io/fs"

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
