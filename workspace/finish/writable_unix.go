//go:build unix

package finish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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

// kept reports whether the file at path is another user's in a sticky directory, where only
// its owner and that of the directory may remove it (see unlink(2)).
func kept(path string) bool {
	me := os.Geteuid()
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || me == 0 || dir.Mode()&fs.ModeSticky == 0 || owner(dir) == me {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && owner(info) != me
}

func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
