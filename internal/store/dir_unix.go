//go:build unix

package store

import (
	"errors"
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

// syncDir makes a rename in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
