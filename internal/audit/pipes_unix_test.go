//go:build unix

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file of the log is told of, and waited for by
// nobody.
func TestPipesHoldNobodyUp(t *testing.T) {
	for _, name := range []string{happened, lockFile} {
		t.Run(name, func(t *testing.T) {
			var told []error
			l := New(t.TempDir(), func(err error) { told = append(told, err) })
			if err := syscall.Mkfifo(filepath.Join(l.dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			l.Write(Record{Event: Login, Outcome: OK})
			if len(told) != 1 {
				t.Errorf("told of %v", told)
			}
			if _, _, err := Read(l.dir, time.Time{}); (err == nil) != (name == lockFile) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

// A log that others can write, or that is elsewhere, is told of and gets no record.
func TestUnsafeLogGetsNoRecord(t *testing.T) {
	for want, spoil := range map[string]func(path string) error{
		"is writable by others": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620)) },
		"is a symbolic link":    func(path string) error { return os.Symlink(path+".1", path) },
	} {
		var told []error
		l := New(t.TempDir(), func(err error) { told = append(told, err) })
		path := filepath.Join(l.dir, happened)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		l.Write(Record{Event: Login, Outcome: OK})
		if len(told) != 1 || !strings.Contains(told[0].Error(), path+" "+want) {
			t.Errorf("told of %v, want %q", told, want)
		}
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			t.Errorf("wrote %q", text)
		}
	}
}
