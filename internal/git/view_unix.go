//go:build unix

package git

import (
	"os"
	"path/filepath"
)

// alternateTo returns the line of objects/info/alternates in dir for a directory of
// objects. It is relative to dir/objects, so that no path needs quoting.
func alternateTo(objects, dir string) (line string, err error) {
	return "../real", os.Symlink(objects, filepath.Join(dir, "real"))
}

// share makes a part of a repository readable at path.
func share(part, path string) error { return os.Symlink(part, path) }
