package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DeletingName is a directory that a delete has taken out of reach and is to
// look at once more. One that was interrupted goes on from there.
func DeletingName(id string) string { return ".deleting-" + id }

// TrashName is a directory that a delete has looked at twice: it is free to go.
func TrashName(id string) string { return ".trash-" + id }

// LateMark is in the name of what a program has made in a directory while that
// was removed, between the workspace's id and a number.
const LateMark = ".late-"

const maxLate = 100 // such names of one workspace

// MoveLate gives what is left of TrashName(id), which a program has written
// meanwhile, a name that no delete and no prune takes, and returns its path. The
// path is "" where all such names are taken.
func MoveLate(base *os.Root, id string) (path string, err error) {
	for n := 1; n <= maxLate; n++ {
		late := fmt.Sprintf("%s%s%d", id, LateMark, n)
		if _, there := base.Lstat(late); there == nil {
			continue
		}
		return filepath.Join(base.Name(), late), base.Rename(TrashName(id), late)
	}
	return "", nil
}

// KeptName is a directory that a delete has kept as it was, because no
// repository can hold it.
func KeptName(id string) string { return ".kept-" + id }

// RestoringName is a directory that a restore gathers, and puts in its place when
// it is whole.
func RestoringName(id string) string { return ".restoring-" + id }

// MakeDir makes a directory of ours, which must not exist yet.
func MakeDir(base *os.Root, id string) error {
	if err := base.Mkdir(id, 0o700); err != nil {
		return fmt.Errorf("make directory %s: %w", filepath.Join(base.Name(), id), err)
	}
	return nil
}

// RemoveAll deletes what is called name in base, if there is such, read-only
// directories included (module caches are made of them).
func RemoveAll(base *os.Root, name string) error {
	err := base.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// Not base.FS: it refuses names that are not UTF-8.
	err = filepath.WalkDir(filepath.Join(base.Name(), name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(base.Name(), path)
		if err != nil {
			return err
		}
		return base.Chmod(below, 0o700)
	})
	if err != nil {
		return fmt.Errorf("make %s writable: %w", name, err)
	}
	return base.RemoveAll(name)
}

// Exists reports whether a path is there. It is not followed where it is a link;
// what cannot be looked at is an error.
func Exists(path string) (there bool, err error) {
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
