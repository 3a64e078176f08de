package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"middleman/internal/plaintext"
	"middleman/internal/private"
)

// DeletingName names a directory that a delete has moved away and has to check
// once more. A later delete continues an interrupted one from there.
func DeletingName(id string) string { return ".deleting-" + id }

// TrashName names a directory that a delete has checked twice and may remove.
func TrashName(id string) string { return ".trash-" + id }

// LateMark stands between a workspace's id and a number, in the name of a
// directory with files that a program wrote while the workspace was removed.
const LateMark = ".late-"

const maxLate = 100 // the largest such number for one workspace

// MoveLate renames what is left of TrashName(id), because a program wrote into
// it meanwhile, and returns the new path. No delete and no prune takes that
// name. The path is "" if all such names are taken.
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

// MoveFree renames a directory in base to a name that must be free: unlike Rename it
// does not take the place of an empty directory. It is an fs.ErrExist if the name is
// taken.
func MoveFree(base *os.Root, from, to string) error {
	dir, err := base.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err = moveFree(dir, from, to); !errors.Is(err, errors.ErrUnsupported) {
		if err != nil {
			return fmt.Errorf("rename %s to %s: %w", filepath.Join(base.Name(), from), to, err)
		}
		return nil
	}
	if there, err := existsIn(base, to); there || err != nil {
		return errors.Join(fmt.Errorf("%s: %w", filepath.Join(base.Name(), to), fs.ErrExist), err)
	}
	return base.Rename(from, to)
}

// KeptName names a directory that a delete kept as it was, because no
// repository can hold it.
func KeptName(id string) string { return ".kept-" + id }

// RestoringName names a directory that a restore fills. It moves the directory to
// its place once that is complete.
func RestoringName(id string) string { return ".restoring-" + id }

// MakeDir makes a directory in base with mode 0700. The name must be free.
func MakeDir(base *os.Root, name string) error {
	if err := base.Mkdir(name, 0o700); err != nil {
		return fmt.Errorf("make directory %s: %w", filepath.Join(base.Name(), name), err)
	}
	return nil
}

// RemoveAll deletes name in base, including read-only files and directories (module
// caches have them), and those that are deeper than this process can have files
// open. A missing name is no error. What another user owns it cannot delete: it deletes
// the rest, and the error names that.
func RemoveAll(base *os.Root, name string) error {
	err := base.RemoveAll(name)
	if errors.Is(err, syscall.EMFILE) {
		err = private.RemoveIn(base, name)
	}
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	foreign := makeWritable(base, name)
	if err = base.RemoveAll(name); err != nil && foreign != "" {
		return fmt.Errorf("%s belongs to another user: %w", plaintext.Quoted(foreign), fs.ErrPermission)
	}
	return err
}

// RemoveEmpty removes an empty directory or a link in dir, and nothing else.
func RemoveEmpty(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		err = fmt.Errorf("%s is not an empty directory: %w", filepath.Join(dir.Name(), name), fs.ErrExist)
	}
	if err != nil {
		return err
	}
	return dir.Remove(name)
}

// existsIn is Exists for a name in dir.
func existsIn(dir *os.Root, name string) (there bool, err error) {
	_, err = dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Names returns the names in a directory, sorted.
func Names(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Exists reports whether something has this path, without following a link at
// its end. Any failure to find out is an error.
func Exists(path string) (there bool, err error) {
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
