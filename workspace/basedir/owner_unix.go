//go:build unix

package basedir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OwnedBy reports whether a file belongs to our user and to our group.
func OwnedBy(info fs.FileInfo) (user, group bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid(), ok && int(stat.Gid) == os.Getegid()
}

// checkShared refuses a directory in which any user could replace entries. A
// scope may be in directories of other users or of a group: who can write there
// can change the user's repository anyway.
func checkShared(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%s can be written by everybody: %w", dir, ErrUnsafeBase)
	}
	return nil
}
