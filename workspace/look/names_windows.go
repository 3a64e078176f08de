package look

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// checkNames refuses a checkout with a file or directory that git cannot open by its
// name, as package plainfile's CheckName, or that has the name of another one but for
// case, which a directory can have: git says nothing of what is in it, or reads another
// one instead. It reads the whole checkout.
func checkNames(checkout string) error {
	top := plainfile.Exact(checkout)
	seen := map[string]bool{} // paths in lower case
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		why := plainfile.CheckName(filepath.Base(path))
		if folded := strings.ToLower(path); seen[folded] {
			why = errors.New("another name there differs in case alone")
		} else {
			seen[folded] = true
		}
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
