//go:build unix

package server

import (
	"fmt"
	"os"
	"syscall"
)

// makePrivateDir makes dir where it is missing, and refuses one that is not
// ours or that others can write.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at directory: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("directory %s belongs to another user", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("directory %s can be written by others (mode %04o): chmod go-w it", dir, info.Mode().Perm())
	}
	return nil
}
