//go:build unix

package store

import (
	"fmt"
	"os"
)

// checkDir refuses a directory in which others could replace the database.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("directory %s can be written by others (mode %04o): chmod go-w it", dir, info.Mode().Perm())
	}
	return nil
}
