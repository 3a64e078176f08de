package config

import (
	"fmt"
	"os"
)

// Prepare makes the data and runtime directories where they are not there.
// They are below the user's profile, whose access list keeps others out.
func (d Dirs) Prepare() error {
	for _, dir := range []string{d.Data, d.Runtime} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return nil
}

// CheckPrivate returns an error unless path is a directory and no link.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}
