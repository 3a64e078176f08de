package private

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Dir returns an error unless path is a directory and no link. Windows has no mode
// bits; the access control list of the user's profile keeps other users out.
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

// Below makes the checks of Dir for root and for path.
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

// MakeDir makes the directory path and its missing parents.
func MakeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return Dir(path)
}

// Tighten does nothing.
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

// SyncDir does nothing: a directory cannot be synced, and the file system logs a
// rename.
func SyncDir(string) error { return nil }

// PeerUID returns errors.ErrUnsupported: Windows does not tell the peer's user.
func PeerUID(*net.UnixConn) (int, error) {
	return -1, fmt.Errorf("peer of socket: %w", errors.ErrUnsupported)
}

// CheckPeer returns errors.ErrUnsupported: Windows does not tell the peer's user.
func CheckPeer(net.Conn) error {
	return fmt.Errorf("peer of socket: %w", errors.ErrUnsupported)
}

// Survey returns nothing: Windows has no mode bits.
func Survey(string, ...string) []Problem { return nil }

// CanMake returns nil: Windows does not tell beforehand.
func CanMake(string) error { return nil }

// Harden does nothing: another user cannot read the memory of this process, and
// Windows writes no core files.
func Harden() error { return nil }
