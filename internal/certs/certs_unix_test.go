//go:build unix

package certs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An authority that another user could have put there is refused.
func TestUnsafeAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	local(t, dir)
	for _, name := range []string{authorityFile, keyFile} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Rename(path, path+".real"), os.Symlink(name+".real", path)); err != nil {
			t.Fatal(err)
		}
		if _, err := Local(dir, nil); err == nil || !strings.Contains(err.Error(), path+" is a symbolic link") {
			t.Errorf("%s is a link: %v", name, err)
		}
		if err := os.Rename(path+".real", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Local(dir, nil); err == nil || !strings.Contains(err.Error(), dir+" is writable by others") {
		t.Errorf("a directory that others can write: %v", err)
	}
}

// A key in a directory that others can write may be theirs.
func TestKeyInAWritableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cert, key := pair(t, dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(cert, key, nil); err == nil || !strings.Contains(err.Error(), dir+" is writable by others") {
		t.Errorf("%v", err)
	}
}

// A file of the pair that is no regular file, or has no end, is refused at once.
func TestEndlessFiles(t *testing.T) {
	for _, at := range []int{0, 1} {
		for kind, plant := range map[string]func(string) error{
			"it is a FIFO":   func(path string) error { return unix.Mkfifo(path, 0o600) },
			"it is a device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"it has more than 1048576 bytes": func(path string) error {
				return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<32))
			},
		} {
			cert, key := pair(t, t.TempDir())
			path := []string{cert, key}[at]
			if err := errors.Join(os.Remove(path), plant(path)); err != nil {
				t.Fatal(err)
			}
			_, err := Files(cert, key, nil)
			if at == 1 && err != nil && strings.Contains(err.Error(), path+" is not a regular file") {
				continue // the key's mode and owner are judged first
			}
			if err == nil || !strings.Contains(err.Error(), path+": "+kind) {
				t.Errorf("%s: %v, want %q", path, err, kind)
			}
		}
	}
}
