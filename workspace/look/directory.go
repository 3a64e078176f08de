package look

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"

	"middleman/internal/plainfile"
	"middleman/workspace/model"
)

// Directory lists the files of a directory that is in no repository.
func Directory(dir string) (model.Loss, error) {
	l := &collector{root: dir, dir: dir}
	err := l.walk(dir, "")
	return l.loss, err
}

// walk adds every file below dir, whose path in the workspace is name. A nested
// repository is one entry.
func (l *collector) walk(dir, name string) error {
	dir = plainfile.Exact(dir)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() != ".git" {
			return nil
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if l.add(&l.loss.Untracked, name+filepath.ToSlash(below)); l.loss.Truncated && len(l.loss.Untracked) == model.MaxListed {
			return fs.SkipAll
		}
		if entry.IsDir() {
			top := filepath.ToSlash(filepath.Dir(filepath.FromSlash(name) + below))
			return cmp.Or(l.lentByNested(filepath.Dir(path), top), fs.SkipDir)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w: %w", dir, model.ErrUnknown, err)
	}
	return nil
}
