package private

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/plainfile"
)

// Open opens a file of middleman's state for reading. It must be a regular file
// and no symbolic link, belong to this user, and not be writable by others;
// otherwise the error is an *UnsafeError. An open of a pipe does not block. A
// missing file is fs.ErrNotExist. While the file is open, others may rename and
// delete it. The caller closes it.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY) }

// open opens a file that passes the checks of Open, or makes it with mode 0600 if
// flags have os.O_CREATE.
func open(path string, flags int) (*os.File, error) {
	f, _, err := openInfo(path, flags)
	return f, err
}

// openInfo is open, and tells what the file is.
func openInfo(path string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := openShared(path, flags)
	if err != nil {
		return nil, nil, notOpened(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkOpened(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// notOpened returns err, why path was not opened, or an *UnsafeError where it is
// no regular file.
func notOpened(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
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

// CheckFile returns an error unless the file at path passes the checks of Open.
// A missing file is fs.ErrNotExist.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return checkOpened(path, info)
}

// maxState bounds the size of a file that ReadFile reads; valid files are smaller.
const maxState = 256 << 20

// ReadFile returns the content of a file that passes the checks of Open. A file
// of more than 256 MiB is an error.
func ReadFile(path string) ([]byte, error) {
	f, info, err := openInfo(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxState)) + bytes.MinRead) // room to meet the end
	_, err = data.ReadFrom(io.LimitReader(f, maxState+1))
	if err == nil && data.Len() > maxState {
		err = fmt.Errorf("read %s: it has more than %d bytes", path, maxState)
	}
	return data.Bytes(), err
}

// Keep says how long a file must last.
type Keep int

// Values of Keep.
const (
	Durable  Keep = iota // for good: it is on disk when Replace returns
	ThisBoot             // until the machine restarts: Replace does not sync it
)

// Replace replaces the file at path, or makes it, with mode 0600 whatever the
// umask. At any time, even after a crash, path is the whole old file or the whole
// new one. A symbolic link at path is replaced, not followed. The directory must be
// there. If only the last step of Durable fails, which syncs the directory, the new
// file is in place after an error.
func Replace(path string, data []byte, k Keep) error {
	return ReplaceWith(path, k, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// ReplaceWith is Replace with what write writes to f, which is a new file beside
// path. write may change the file's mode. It must not close f. If it fails, path
// stays as it is.
func ReplaceWith(path string, k Keep, write func(f *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && k == Durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if k == Durable {
		return SyncDir(filepath.Dir(path))
	}
	return nil
}

// Append opens a file of middleman's state to append to and to read, and makes it
// with mode 0600 if it is missing. A file that exists must pass the checks of Open.
// The caller closes the file.
func Append(path string) (*os.File, error) { return open(path, os.O_RDWR|os.O_CREATE|os.O_APPEND) }

// Create opens a file of middleman's state to write to, and makes it with mode 0600
// if it is missing. It empties a file that exists, once that has passed the checks
// of Open. The caller closes the file.
func Create(path string) (*os.File, error) {
	f, err := open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
