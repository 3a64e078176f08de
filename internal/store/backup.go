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

	"middleman/internal/private"
)

// keepBackups is how many backups are kept beside the database.
const keepBackups = 3

// backup writes a copy of the database beside it, with mode 0600 and the time and
// schema version in its name. It removes the oldest backups over keepBackups.
func (s *Store) backup(ctx context.Context, version int64, now time.Time) error {
	name := fmt.Sprintf("%s.backup-%s-v%d", s.path, now.UTC().Format("20060102T150405.000000"), version)
	err := private.ReplaceWith(name, private.Durable, func(f *os.File) error {
		_, err := s.write.ExecContext(ctx, `VACUUM INTO ?`, f.Name()) // it accepts an empty file
		return err
	})
	if err == nil {
		err = s.dropOldBackups()
	}
	if err != nil {
		return fmt.Errorf("back up database %s before its migration: %w", s.path, err)
	}
	return nil
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
