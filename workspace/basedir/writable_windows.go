package basedir

import (
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/plainfile"
)

// makeWritable takes the attribute "read-only" from name in base and from all that is in
// it: where a file system knows no other way, it keeps a file from being deleted. It
// cannot tell what belongs to another user.
func makeWritable(base *os.Root, name string) (foreign string) {
	_ = filepath.WalkDir(filepath.Join(plainfile.Exact(base.Name()), name), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&^fs.ModeDir == 0 {
			_ = os.Chmod(path, 0o600) // the removal says what it cannot do
		}
		return nil
	})
	return ""
}
