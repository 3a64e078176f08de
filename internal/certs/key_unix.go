//go:build unix

package certs

import (
	"fmt"
	"os"
	"path/filepath"

	"middleman/internal/private"
)

// checkKey refuses a private key that users other than this one, root or the
// file's group can read, that the group or others can write, or that another
// user could have put there.
func checkKey(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the private key: %w", err)
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("private key %s is not a regular file", path)
	case mode.Perm()&0o027 != 0:
		return fmt.Errorf("private key %s can be read or written by others (mode %04o): chmod 600 it", path, mode.Perm())
	}
	path, err = filepath.Abs(path)
	if err == nil {
		err = private.Trusted(path)
	}
	if err != nil {
		return fmt.Errorf("private key: %w", err)
	}
	return nil
}
