package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxState is more than any file has that is read whole.
const maxState = 256 << 20

// ReadFile reads a file of ours whole; see Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(data) > maxState {
		err = fmt.Errorf("read %s: it has more than %d bytes", path, maxState)
	}
	return data, err
}

// Keep says how long a file is of use.
type Keep int

// What Replace is told.
const (
	Durable  Keep = iota // for good: it is on disk when Replace returns
	ThisBoot             // while the machine is up, so it need not be synced
)

// Replace puts a file (0600) in place whole, by a temporary file and a rename.
// The umask has no part in it.
func Replace(path string, data []byte, k Keep) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if k == Durable {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if k == Durable {
		return SyncDir(filepath.Dir(path))
	}
	return nil
}

// kind names what a file is that is no regular one.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
