package basedir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// moveFree renames from to to in dir, if to is free. It is an errors.ErrUnsupported
// on a file system that cannot do that in one step.
func moveFree(dir *os.File, from, to string) error {
	at := int(dir.Fd())
	err := unix.Renameat2(at, from, at, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
