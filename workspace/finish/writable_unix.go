//go:build unix

package finish

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// writable returns an error unless this user may write to a file, or make and remove files
// in a directory (access(2)).
func writable(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil {
		return &fs.PathError{Op: "write to", Path: path, Err: err}
	}
	return nil
}

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }
