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
	if err := plainfile.CheckPath(path); err != nil {
		return fmt.Errorf("check directory %s: %w", path, err)
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

// judgeDir returns what is wrong with a directory of middleman's state, or nil.
func judgeDir(path string, info fs.FileInfo) *Problem {
	if info.Mode().Type() != fs.ModeDir {
		return &Problem{Path: path, What: "is " + plainfile.Kind(info.Mode().Type()&^fs.ModeDir) + ", not a directory"}
	}
	return judgeACL(path, write, true)
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

// makeAll makes path and its missing parents, or leaves those that others make meanwhile.
func makeAll(path string) error {
	if parent := filepath.Dir(path); parent != path {
		if _, err := os.Lstat(parent); errors.Is(err, fs.ErrNotExist) {
			if err := makeAll(parent); err != nil {
				return err
			}
		}
	}
	if err := Mkdir(path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Mkdir makes one directory, for this user alone. An existing one is fs.ErrExist.
func Mkdir(path string) error {
	attributes, err := OnlyOurs()
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

// openShared is os.OpenFile, but others may rename and delete the file while it is
// open, as on Unix. It does not follow a link at the end of path.
func openShared(path string, flags int) (*os.File, error) {
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

// judgeFile returns what is wrong with a file of middleman's state, or nil. Its
// access control list is read by its name: who could exchange the file meanwhile
// could write in its directory, which is checked before it is used.
func judgeFile(path string, info fs.FileInfo) *Problem {
	if !info.Mode().IsRegular() {
		return &Problem{Path: path, What: "is " + plainfile.Kind(info.Mode()) + ", not a file"}
	}
	return judgeACL(path, write, true)
}
