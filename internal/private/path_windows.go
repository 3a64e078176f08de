package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"middleman/internal/plainfile"
)

// Dir returns an error unless path is safe as a directory of middleman's state. It
// must be a directory and no link or junction, belong to this user, and nobody else
// may write in it: neither by its access control list nor by those of the
// directories above it. The system's own accounts count as root does on Unix. The
// error is an *UnsafeError, or fs.ErrNotExist if path is missing.
func Dir(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("check %q: it is not an absolute path", path)
	}
	unsafe := &UnsafeError{Path: path}
	for at := filepath.Dir(filepath.Clean(path)); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil {
			unsafe.add(judgeACL(at, takeOver, false))
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return unsafe.with(LastDir(path))
}

// with returns err, or e where that has found problems before.
func (e *UnsafeError) with(err error) error {
	more, isUnsafe := errors.AsType[*UnsafeError](err)
	if err != nil && !isUnsafe {
		return err
	}
	if isUnsafe {
		e.Problems = append(e.Problems, more.Problems...)
	}
	return e.orNil()
}

// LastDir makes the checks of Dir for the last component of path only.
func LastDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	unsafe := &UnsafeError{Path: path}
	if info.Mode().Type() != fs.ModeDir {
		unsafe.add(&Problem{Path: path, What: "is " + plainfile.Kind(info.Mode().Type()&^fs.ModeDir) + ", not a directory"})
	} else {
		unsafe.add(judgeACL(path, write, true))
	}
	return unsafe.orNil()
}

// Below makes the checks of Dir for root, and for each component from there down
// to path. None of them may be a link.
func Below(root, path string) error {
	if err := Dir(root); err != nil {
		return err
	}
	rest, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rest) {
		return fmt.Errorf("check directory %s: it is not below %s", path, root)
	}
	unsafe := &UnsafeError{Path: path}
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		root = filepath.Join(root, name)
		if err := unsafe.with(LastDir(root)); err != nil {
			return err
		}
	}
	return unsafe.orNil()
}

// Trusted returns an error unless there is a file or a directory at path that
// nobody can write but this user and the system.
func Trusted(path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	unsafe := &UnsafeError{Path: path}
	unsafe.add(judgeACL(path, write, false))
	return unsafe.orNil()
}

// MakeDir makes the directory path and its missing parents, each with a
// descriptor for this user alone from its first moment on. If path exists and is
// not safe, it returns the error of Dir.
func MakeDir(path string) error {
	err := Dir(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeAll(path); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return Dir(path)
}

// makeAll makes path and its missing parents.
func makeAll(path string) error {
	if parent := filepath.Dir(path); parent != path {
		if _, err := os.Lstat(parent); errors.Is(err, fs.ErrNotExist) {
			if err := makeAll(parent); err != nil {
				return err
			}
		}
	}
	return Mkdir(path)
}

// Mkdir makes one directory, for this user alone. An existing one is fs.ErrExist.
func Mkdir(path string) error {
	attributes, err := onlyOurs()
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(longPath(path))
	if err == nil {
		err = windows.CreateDirectory(name, attributes)
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// longPath returns path in the form that may have more than 260 characters.
func longPath(path string) string {
	if len(path) < windows.MAX_PATH-12 || strings.HasPrefix(path, `\\`) {
		return path
	}
	return `\\?\` + path
}

// Tighten returns 0: the descriptor of a directory is set when it is made.
func Tighten(string) (fs.FileMode, error) { return 0, nil }

// Open opens a file of middleman's state for reading. It must be a regular file
// and no link, belong to this user, and not be writable by others; otherwise the
// error is an *UnsafeError. While it is open, others may rename and delete it. A
// missing file is fs.ErrNotExist. The caller closes the file.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY) }

func open(path string, flags int) (*os.File, error) {
	f, err := OpenShared(path, flags)
	if err != nil {
		return nil, notOpened(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkOpened(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenShared is os.OpenFile, but others may rename and delete the file while it is
// open, as on Unix. It does not follow a link at the end of path.
func OpenShared(path string, flags int) (*os.File, error) {
	access, create := uint32(windows.GENERIC_READ), uint32(windows.OPEN_EXISTING)
	switch {
	case flags&os.O_RDWR != 0:
		access |= windows.GENERIC_WRITE
	case flags&os.O_WRONLY != 0:
		access = windows.GENERIC_WRITE | windows.FILE_READ_ATTRIBUTES
	}
	if flags&os.O_APPEND != 0 {
		access = access&^windows.GENERIC_WRITE | windows.FILE_APPEND_DATA | windows.FILE_WRITE_ATTRIBUTES | windows.SYNCHRONIZE
	}
	if flags&os.O_CREATE != 0 {
		create = windows.OPEN_ALWAYS
	}
	name, err := windows.UTF16PtrFromString(longPath(path))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := windows.CreateFile(name, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, create, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// Unnamed makes a file in dir that ends when it is closed, or with this process.
// pattern is that of os.CreateTemp.
func Unnamed(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(longPath(f.Name()))
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: f.Name(), Err: err}, os.Remove(f.Name()))
	}
	return os.NewFile(uintptr(h), f.Name()), nil
}

// openFlags are the flags of each open of a file of middleman's state.
const openFlags = 0

// notOpened returns err, why path was not opened, or an *UnsafeError where it is
// no regular file.
func notOpened(path string, err error) error {
	if info, lookErr := os.Lstat(path); lookErr == nil && !info.Mode().IsRegular() {
		return &UnsafeError{path, []Problem{{Path: path, What: "is " + plainfile.Kind(info.Mode()) + ", not a file"}}}
	}
	return err
}

// checkOpened returns an *UnsafeError unless the open file passes the checks of
// Open. Its access control list is read by its name: who could exchange the file
// meanwhile could write in its directory, which is checked before it is used.
func checkOpened(path string, info fs.FileInfo) error {
	unsafe := &UnsafeError{Path: path}
	if !info.Mode().IsRegular() {
		unsafe.add(&Problem{Path: path, What: "is " + plainfile.Kind(info.Mode()) + ", not a file"})
	} else {
		unsafe.add(judgeACL(path, write, true))
	}
	return unsafe.orNil()
}

// CheckFile returns an error unless the file at path passes the checks of Open.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return checkOpened(path, info)
}
