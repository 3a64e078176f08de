package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxState bounds the size of a file that ReadFile reads; valid files are smaller.
const maxState = 256 << 20

// ReadFile returns the content of a file that passes the checks of Open. A file
// of more than 256 MiB is an error.
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

// Keep says how long a file must last.
type Keep int

// Values of Keep.
const (
	Durable  Keep = iota // for good: it is on disk when Replace returns
	ThisBoot             // until the machine restarts: Replace does not sync it
)

// Replace replaces the file at path atomically, with a temporary file and a
// rename. The new file has mode 0600, whatever the umask.
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

// kind names the kind of a file that is not a regular one.
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
