//go:build unix

package repoconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/plainfile"
)

// Whatever is no plain small file is refused, and nobody is waited for.
func TestReadRefuses(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link": func(path string) error {
			target := filepath.Join(filepath.Dir(path), "other")
			return errors.Join(os.WriteFile(target, []byte("ports = 1"), 0o600), os.Symlink("other", path))
		},
		"a link out of it":  func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a link to nothing": func(path string) error { return os.Symlink("none", path) },
		"a directory":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a FIFO":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"too large":         func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("#", maxSize+1)), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, Name)); err != nil {
				t.Fatal(err)
			}
			if content, err := Read(dir); !errors.Is(err, plainfile.ErrRefused) {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
}
