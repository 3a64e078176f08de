//go:build unix

package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "100%?#", "middleman.db")
	s := openAt(t, path)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	var journal string
	var synchronous, keys, timeout int
	for query, dest := range map[string]any{
		"PRAGMA journal_mode": &journal, "PRAGMA synchronous": &synchronous,
		"PRAGMA foreign_keys": &keys, "PRAGMA busy_timeout": &timeout,
	} {
		must(t, s.write.QueryRow(query).Scan(dest))
	}
	if journal != "wal" || synchronous != 1 || keys != 1 || timeout != 5000 {
		t.Errorf("journal_mode %s, synchronous %d, foreign_keys %d, busy_timeout %d", journal, synchronous, keys, timeout)
	}
}

func TestDirectoryThatOthersCanWrite(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	_, err := Open(ctx, filepath.Join(dir, "middleman.db"))
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}
