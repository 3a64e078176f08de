package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Options are what the service is to run.
type Options struct {
	// Executable is the absolute path of middleman.
	Executable string
	// Args are its arguments.
	Args []string
	// Env is added to what the service manager gives, as NAME=value.
	Env []string
	// Log is where a manager without a log of its own puts what it prints.
	Log string
}

// check refuses what cannot be written into a service's file.
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

// marker is in each file of ours; one without it is somebody else's.
const marker = "Written by `middleman service install`"

// ErrForeign: the service's file is there, and middleman has not written it.
var ErrForeign = errors.New("was not written by middleman")

// Installed reports whether the service's file is there. One that is not ours
// is ErrForeign.
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

// Write puts the service's file in place, whole or not at all.
func Write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".middleman-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Status is what the service manager knows.
type Status struct {
	Enabled string // as the manager says it
	Active  string
	PID     int // of the server, 0 where it does not run
}
