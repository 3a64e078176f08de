package finish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"middleman/internal/plaintext"
)

// checkWritable refuses a merge in which git would fail halfway, with some files of the
// checkout changed: it makes and removes files one by one, and moves the branch at last.
func (c *checkout) checkWritable(m *merge, where string, changed map[string]bool) error {
	for _, lock := range []string{filepath.Join(c.dirs.GitDir, "HEAD.lock"), filepath.Join(c.dirs.CommonDir, filepath.FromSlash(m.ref())+".lock")} {
		if _, err := os.Lstat(lock); err == nil {
			return fmt.Errorf("%s %w: another git is at work there, or has left its lock %s: remove that if none runs", where, ErrInUse, plaintext.Quoted(lock))
		}
	}
	for _, log := range []string{filepath.Join(c.dirs.GitDir, "logs", "HEAD"), filepath.Join(c.dirs.CommonDir, "logs", filepath.FromSlash(m.ref()))} {
		if err := writable(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be moved, since git must write its reflog: %w", where, err)
		}
	}
	if err := existing(filepath.Join(c.dirs.CommonDir, filepath.FromSlash(path.Dir(m.ref())))); err != nil {
		return fmt.Errorf("%s cannot be moved, since git must write its ref: %w", where, err)
	}
	asked := map[string]bool{}
	for name := range changed {
		asked[path.Dir(name)] = true
	}
	var closed []string
	for dir := range asked {
		if existing(filepath.Join(c.dirs.WorkTree, filepath.FromSlash(dir))) != nil {
			closed = append(closed, dir)
		}
	}
	for name := range changed {
		if kept(filepath.Join(c.dirs.WorkTree, filepath.FromSlash(name))) {
			closed = append(closed, name)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	slices.Sort(closed)
	return &FilesError{What: where, Err: errClosed, Files: quoted(closed), Hint: "make that possible, then try again"}
}

// errClosed is ErrInUse because of directories, or of files in a sticky one.
var errClosed = fmt.Errorf("%w: the merge changes files where nothing can be written or removed", ErrInUse)

// existing returns an error if a directory, or what there is of it, cannot be written to:
// git makes the rest.
func existing(dir string) error {
	for err := writable(dir); err != nil; err = writable(dir) {
		if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
			return err
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return nil
}
