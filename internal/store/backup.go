package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keepBackups is how many backups are kept beside the database.
const keepBackups = 3

// backup writes a copy of the database beside it, with mode 0600 and the time and
// schema version in its name. It removes the oldest backups over keepBackups.
func (s *Store) backup(ctx context.Context, version int64, now time.Time) (err error) {
	name := fmt.Sprintf("%s.backup-%s-v%d", s.path, now.UTC().Format("20060102T150405.000000"), version)
	temp := name + ".tmp"
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up database %s before its migration: %w", s.path, errors.Join(err, removeIfThere(temp)))
		}
	}()
	// VACUUM INTO accepts an empty file. This one has the right mode.
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		return err
	}
	if _, err := s.write.ExecContext(ctx, `VACUUM INTO ?`, temp); err != nil {
		return err
	}
	if err := syncFile(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	return s.dropOldBackups()
}

func (s *Store) dropOldBackups() error {
	dir := filepath.Dir(s.path)
	entries, err := os.ReadDir(dir) // sorted by name, so by time
	if err != nil {
		return err
	}
	var backups []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(s.path)+".backup-") && !strings.HasSuffix(e.Name(), ".tmp") {
			backups = append(backups, filepath.Join(dir, e.Name()))
		}
	}
	for len(backups) > keepBackups {
		if err := removeIfThere(backups[0]); err != nil {
			return err
		}
		backups = backups[1:]
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
