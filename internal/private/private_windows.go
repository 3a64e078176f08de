package private

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Dir returns an error unless path is a directory and no link. Mode bits do
// not exist: the access list of the user's profile keeps others out.
func Dir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}

// Below is Dir for root and path.
func Below(root, path string) error {
	if err := Dir(root); err != nil {
		return err
	}
	return Dir(path)
}

// Trusted returns an error unless there is a file or a directory at path.
func Trusted(path string) error {
	_, err := os.Stat(path)
	return err
}

// MakeDir makes path where it is missing.
func MakeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return Dir(path)
}

// Tighten has nothing to do.
func Tighten(string) (fs.FileMode, error) { return 0, nil }

// Executable returns an error unless there is a file at path.
func Executable(path string) error { return Trusted(path) }

// Open opens a file for reading.
func Open(path string) (*os.File, error) { return os.Open(path) }

// CheckFile returns an error unless there is a regular file at path.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s and no file", path, kind(info.Mode()))
	}
	return err
}

// SyncDir has nothing to do: a directory cannot be synced, and a rename is
// logged by the file system.
func SyncDir(string) error { return nil }

// PeerUID cannot tell who is at the other end.
func PeerUID(*net.UnixConn) (int, error) {
	return -1, fmt.Errorf("peer of socket: %w", errors.ErrUnsupported)
}

// CheckPeer cannot tell who is at the other end.
func CheckPeer(net.Conn) error {
	return fmt.Errorf("peer of socket: %w", errors.ErrUnsupported)
}

// Survey has nothing to look at: mode bits do not exist.
func Survey(string, ...string) []Problem { return nil }

// CanMake cannot tell beforehand.
func CanMake(string) error { return nil }

// Harden has nothing to do: a process of another user cannot be looked into,
// and no core files are written.
func Harden() error { return nil }
