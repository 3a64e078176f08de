package private

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// RemoveTree is os.RemoveAll for directories that another program made: it may have taken
// our rights to them away, and made them deeper than this process can have files open.
func RemoveTree(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return RemoveIn(parent, filepath.Base(dir))
}

// RemoveIn is RemoveTree for a name in a directory.
func RemoveIn(parent *os.Root, name string) error {
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		err = empty(parent, name)
	}
	if err != nil {
		return err
	}
	return parent.Remove(name)
}

// empty removes all that is in a directory of parent. It moves each directory of the second
// level up to the first, so no depth needs more than a few open files.
func empty(parent *os.Root, name string) error {
	_ = parent.Chmod(name, 0o700) // what follows says so if that was needed
	root, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	unique, n := rand.Text()+"-", 0
	for {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				err = lift(root, e.Name(), func() string { n++; return unique + strconv.Itoa(n) })
			}
			if err == nil {
				err = root.Remove(e.Name())
			}
			if err != nil {
				return err
			}
		}
	}
}

// lift moves the directories in a directory of root to root, and removes all else in it.
func lift(root *os.Root, name string, unique func() string) error {
	_ = root.Chmod(name, 0o700)
	dir, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if err != nil {
			return err
		}
		if !e.IsDir() {
			err = dir.Remove(e.Name())
			continue
		}
		_ = dir.Chmod(e.Name(), 0o700) // else its own .. cannot change
		err = root.Rename(filepath.Join(name, e.Name()), unique())
	}
	return err
}
