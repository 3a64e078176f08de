package private

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"middleman/internal/plainfile"
)

// Dir returns an error unless path is a directory and no link. Windows has no mode
// bits; the access control list of the user's profile keeps other users out.
func Dir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	if !info.IsDir() {
		return &UnsafeError{path, []Problem{{Path: path, What: "is not a directory"}}}
	}
	return nil
}

// LastDir is Dir.
func LastDir(path string) error { return Dir(path) }

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

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY) }

func open(path string, flags int) (*os.File, error) {
	if err := CheckFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

// openFlags are the flags of each open of a file of middleman's state.
const openFlags = 0

// notOpened returns err.
func notOpened(_ string, err error) error { return err }

// checkOpened returns an error unless info, of the open file, is of a regular file.
func checkOpened(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %s, not a file", path, plainfile.Kind(info.Mode()))
	}
	return nil
}

// TryLockDir returns nil: Windows cannot lock a directory.
func TryLockDir(string) (*os.File, error) { return nil, nil }

// CheckFile returns an error unless there is a regular file at path.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, not a file", path, plainfile.Kind(info.Mode()))
	}
	return err
}

// syncDir does nothing: a directory cannot be synced, and the file system logs a
// rename.
func syncDir(string) error { return nil }

// CheckPeer returns errors.ErrUnsupported: Windows does not tell the peer's user.
func CheckPeer(net.Conn) error {
	return fmt.Errorf("peer of socket: %w", errors.ErrUnsupported)
}

// PeerPID returns 0: Windows does not tell the peer's process.
func PeerPID(net.Conn) int { return 0 }

// Survey returns nothing: Windows has no mode bits.
func Survey(string, ...string) []Problem { return nil }

// CanMake returns nil: Windows does not tell beforehand.
func CanMake(string) error { return nil }

// Harden does nothing: another user cannot read the memory of this process, and
// Windows writes no core files.
func Harden() error { return nil }

// CheckSocket returns errors.ErrUnsupported: SSH agents have no Unix sockets on
// Windows.
func CheckSocket(path string) error {
	return fmt.Errorf("socket %s: %w", path, errors.ErrUnsupported)
}

// ReplaceLink returns errors.ErrUnsupported.
func ReplaceLink(_, path string) error {
	return fmt.Errorf("make link %s: %w", path, errors.ErrUnsupported)
}
