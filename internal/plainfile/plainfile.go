// Package plainfile opens files that another program or user put there. It
// opens regular files only. Open and Read follow no link at the last part of
// the name, and OpenDir none at all. It never waits for the other end of a FIFO, and reads no more than
// the caller allows.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrRefused says that a file is not regular, or too large.
var ErrRefused = errors.New("refused")

// Open opens a regular file below root for reading. It refuses anything else,
// and a file that was replaced while it was opened. The caller closes it.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("it is %s: %w", Kind(seen.Mode()), ErrRefused)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("it was replaced while it was opened: %w", ErrRefused)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, opened, nil
}

// OpenDir opens a directory in root. It refuses a link to one, and a directory that was
// replaced while it was opened. The caller closes it.
func OpenDir(root *os.Root, name string) (*os.Root, error) {
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s is %s: %w", name, Kind(seen.Mode()), ErrRefused)
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("%s was replaced while it was opened: %w", name, ErrRefused)
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

// Read reads a regular file of at most limit bytes.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, _, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// ReadFollowed reads a regular file of at most limit bytes at path, which may
// be a link: for files that the user puts somewhere and names.
func ReadFollowed(path string, limit int64) ([]byte, error) {
	f, err := OpenFollowed(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// OpenFollowed opens a regular file at path, which may be a link, for reading. The
// caller closes it.
func OpenFollowed(path string) (*os.File, error) {
	seen, err := os.Stat(path)
	if err == nil && !seen.Mode().IsRegular() {
		err = fmt.Errorf("it is %s: %w", Kind(seen.Mode()), ErrRefused)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = fmt.Errorf("it was replaced while it was opened: %w", ErrRefused)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, fmt.Errorf("it has more than %d bytes: %w", limit, ErrRefused)
	}
	return content, err
}

// Kind describes the type of a file, for use in a sentence.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeIrregular != 0: // on Windows
		return "a reparse point, such as a junction"
	}
	return "a device"
}
