//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"middleman/internal/plainfile"
)

// Open opens a file of middleman's state for reading. It must be a regular file
// and no symbolic link, belong to this user, and not be writable by others;
// otherwise the error is an *UnsafeError. An open of a pipe does not block. A
// missing file is fs.ErrNotExist. The caller closes the file.
func Open(path string) (*os.File, error) {
	return open(path, unix.O_RDONLY)
}

// open opens a file that passes the checks of Open, or makes it with mode 0600 if
// flags have os.O_CREATE.
func open(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|openFlags, 0o600)
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

// openFlags are the flags of each open of a file of middleman's state.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// notOpened returns err, why path was not opened, or an *UnsafeError where it is
// no regular file.
func notOpened(path string, err error) error {
	if info, lookErr := os.Lstat(path); lookErr == nil && !info.Mode().IsRegular() {
		return &UnsafeError{path, []Problem{{Path: path, What: "is " + plainfile.Kind(info.Mode()) + ", not a file"}}}
	}
	return err
}

// checkOpened returns an *UnsafeError unless info, of the open file, passes the
// checks of Open.
func checkOpened(path string, info fs.FileInfo) error {
	unsafe := &UnsafeError{Path: path}
	unsafe.add(judgeFile(path, info))
	return unsafe.orNil()
}

// judgeFile returns what is wrong with a file of middleman's state, or nil.
func judgeFile(path string, info fs.FileInfo) *Problem {
	switch {
	case !info.Mode().IsRegular():
		return &Problem{Path: path, What: "is " + plainfile.Kind(info.Mode()) + ", not a file"}
	case uid(info) != os.Geteuid():
		return &Problem{Path: path, What: fmt.Sprintf("belongs to user %d, and you are user %d", uid(info), os.Geteuid()), Foreign: true}
	case info.Mode().Perm()&0o022 != 0:
		return &Problem{Path: path, What: fmt.Sprintf("is writable by others (mode %04o)", info.Mode().Perm()), Loose: true}
	}
	return nil
}

// CheckFile returns an error unless the file at path passes the checks of Open.
// A missing file is fs.ErrNotExist.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	unsafe := &UnsafeError{Path: path}
	unsafe.add(judgeFile(path, info))
	return unsafe.orNil()
}

// syncDir syncs a directory, which makes a rename in it durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Mkdir makes one directory, for this user alone. An existing one is fs.ErrExist.
func Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// Unnamed makes a file in dir that has no name, and so ends when it is closed, or
// with this process. pattern is that of os.CreateTemp.
func Unnamed(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern) // 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// RemoveAll is os.RemoveAll. On Windows it waits for files that a process holds
// which is about to end.
func RemoveAll(path string) error { return os.RemoveAll(path) }

func rename(from, to string) error { return os.Rename(from, to) }
