//go:build unix

package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckSocket returns an error unless path is the absolute path of a Unix socket
// of this user. It follows symbolic links.
func CheckSocket(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("socket %q: it is not an absolute path", path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("look at socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is no socket", path)
	case uid(info) != os.Geteuid():
		return fmt.Errorf("socket %s belongs to user %d, and you are user %d", path, uid(info), os.Geteuid())
	}
	return nil
}

// ReplaceLink makes path a symbolic link to target. It replaces what is there
// atomically.
func ReplaceLink(target, path string) error {
	temp := filepath.Join(filepath.Dir(path), "."+rand.Text()+filepath.Base(path))
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
