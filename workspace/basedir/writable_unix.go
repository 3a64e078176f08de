//go:build unix

package basedir

import (
	"io/fs"
	"os"
	"path/filepath"
)

// makeWritable gives this user the right to change what is in name, a directory in base,
// and what is below. It returns the first directory, below base, that belongs to another
// user, or "".
func makeWritable(base *os.Root, name string) (foreign string) {
	// base.FS would refuse names that are not UTF-8.
	_ = filepath.WalkDir(filepath.Join(base.Name(), name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // the removal says what it cannot do
		}
		below, err := filepath.Rel(base.Name(), path)
		if err == nil {
			err = base.Chmod(below, 0o700)
		}
		if info, statErr := entry.Info(); err != nil && statErr == nil && foreign == "" {
			if ours, _ := OwnedBy(info); !ours {
				foreign = below
			}
		}
		return nil
	})
	return foreign
}
