package private

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree is os.RemoveAll for directories that another program made, which may have
// taken our rights to them away.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // WalkDir calls this before it reads the directory
		}
		return nil
	})
	return os.RemoveAll(dir)
}
