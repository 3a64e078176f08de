//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/internal/plainfile"
)

// openShared opens a file as os.OpenFile does, but neither follows a link at the
// end of path nor waits for the other end of a pipe.
func openShared(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|openFlags, 0o600)
}

// openFlags are the flags of each open of a file of middleman's state.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

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

// SyncDir syncs a directory, which makes a rename in it durable. Some file systems cannot
// do that, and say so (fsync(2)); that is no error.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = f.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
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
