//go:build unix

package certs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
