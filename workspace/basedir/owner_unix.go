//go:build unix

package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwned refuses a base directory that other users can write to or own.
func checkOwned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at base directory: %w", err)
	}
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("base directory %s is not a directory: %w", dir, ErrUnsafeBase)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("base directory %s can be written by others (mode %04o): %w", dir, info.Mode().Perm(), ErrUnsafeBase)
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("base directory %s belongs to another user: %w", dir, ErrUnsafeBase)
	}
	return nil
}

// OwnedBy reports whether a file belongs to our user and to our group.
func OwnedBy(info fs.FileInfo) (user, group bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid(), ok && int(stat.Gid) == os.Getegid()
}

// checkAncestor refuses a directory above the base in which any user could
// replace entries. A missing one is fine: we will make it.
func checkAncestor(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%s, above the base directory, can be written by everybody: %w", dir, ErrUnsafeBase)
	}
	return nil
}
