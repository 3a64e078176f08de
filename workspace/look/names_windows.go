package look

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// checkNames refuses a checkout with a file or directory that git cannot open by its
// name, as package plainfile's CheckName: git says nothing of what is in it, or lists
// another directory instead. It reads the whole checkout.
func checkNames(checkout string) error {
	top := plainfile.Exact(checkout)
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		why := plainfile.CheckName(filepath.Base(path))
		if why == nil {
			return nil
		}
		below, err := filepath.Rel(top, path)
		if err == nil {
			err = fmt.Errorf(`git cannot read %s (%w): rename or delete it, by a path that begins with \\?\`, plaintext.Quoted(filepath.ToSlash(below)), why)
		}
		return err
	})
	if err != nil {
		return model.Unknown(err)
	}
	return nil
}
