//go:build unix

package certs

import (
	"fmt"
	"os"
	"syscall"
)

// checkKey refuses a private key that users other than this one, root or the
// file's group can read, or that the group or others can write.
func checkKey(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the private key: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("private key %s is not a regular file", path)
	case !ok || int(owner.Uid) != os.Getuid() && owner.Uid != 0:
		return fmt.Errorf("private key %s belongs to another user", path)
	case mode.Perm()&0o027 != 0:
		return fmt.Errorf("private key %s can be read or written by others (mode %04o): chmod 600 it", path, mode.Perm())
	}
	return nil
}
