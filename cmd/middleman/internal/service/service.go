package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/private"
)

// Options say what the service runs.
type Options struct {
	// Executable is the absolute path of middleman.
	Executable string
	// Args are its arguments.
	Args []string
	// Env is added to the service manager's environment, as NAME=value.
	Env []string
	// Log is the file for the output if the service manager has no log of its
	// own.
	Log string
}

// check refuses text that a service's file cannot hold.
func (o Options) check() error {
	if !filepath.IsAbs(o.Executable) {
		return fmt.Errorf("executable %q is not an absolute path", o.Executable)
	}
	for _, text := range append(append([]string{o.Executable}, o.Args...), o.Env...) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
			return fmt.Errorf("%q cannot be written into a service: it has control characters or is not UTF-8", text)
		}
	}
	return nil
}

// marker is in each file that we wrote. A file without it is not ours.
const marker = "Written by `middleman service install`"

// ErrForeign: the service's file exists and was not written by middleman.
var ErrForeign = errors.New("was not written by middleman")

// Installed reports whether the service's file exists. If it is not ours the
// error wraps ErrForeign.
func Installed(path string) (bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !bytes.Contains(text, []byte(marker)) {
		return true, fmt.Errorf("%s %w", path, ErrForeign)
	}
	return true, nil
}

// Write replaces the service's file durably.
func Write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := private.ReplaceWith(path, private.Durable, func(f *os.File) error {
		_, err := f.Write(text)
		return errors.Join(err, f.Chmod(0o644))
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Status is what the service manager reports.
type Status struct {
	Enabled string // in the manager's words
	Active  string
	PID     int // of the server; 0 if it does not run
}
