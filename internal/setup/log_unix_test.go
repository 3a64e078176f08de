//go:build unix

package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What setup prints goes to no file that another user could have put there.
func TestLogRefusesUnsafePlaces(t *testing.T) {
	for want, spoil := range map[string]func(path string) error{
		"/setup is writable by others": func(path string) error { return os.Chmod(filepath.Dir(path), 0o720) },
		"w1.log is a symbolic link":    func(path string) error { return os.Symlink("theirs", path) },
		"w1.log is writable by others": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602)) },
		"w1.log is a directory, not a": func(path string) error { return os.Mkdir(path, 0o700) },
		"/setup is a symbolic link, not ": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(path)), os.Symlink(".", filepath.Dir(path)))
		},
	} {
		path := filepath.Join(t.TempDir(), "setup", "w1.log")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), spoil(path)); err != nil {
			t.Fatal(err)
		}
		if l, err := createLog(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", l, err, want)
		}
	}
}
