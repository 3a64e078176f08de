// Package plainfile opens files that somebody else has put there: plain ones,
// and nothing else. Within a directory it follows no link at the name itself.
// It waits for nobody at the other end of a FIFO, and reads no more than it was
// asked for.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrRefused is what is no plain file, or one that is too large.
var ErrRefused = errors.New("refused")

// Open opens a plain file below root for reading, and no other: what the name
// stood for before is what is open afterwards. The caller closes it.
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

// Read reads a plain file of at most limit bytes.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, _, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// ReadFollowed reads a plain file of at most limit bytes at path, which may be
// a link to it: for files that the user puts somewhere and names.
func ReadFollowed(path string, limit int64) ([]byte, error) {
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
	defer f.Close()
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = fmt.Errorf("it was replaced while it was opened: %w", ErrRefused)
	}
	if err != nil {
		return nil, err
	}
	return readAll(f, limit)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, fmt.Errorf("it has more than %d bytes: %w", limit, ErrRefused)
	}
	return content, err
}

// Kind is what a file is, for a sentence.
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
	}
	return "a device"
}
