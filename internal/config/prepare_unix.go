//go:build unix

package config

import (
	"fmt"
	"os"
	"syscall"
)

// Prepare makes the data and runtime directories with mode 0700 where they
// are not there, and refuses any that is not a directory of ours alone.
func (d Dirs) Prepare() error {
	for _, dir := range []string{d.Data, d.Runtime} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := CheckPrivate(dir); err != nil {
			return err
		}
	}
	return nil
}

// CheckPrivate returns an error unless path is a directory, no symbolic link,
// owned by this user and not writable by others.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("directory %s is a symbolic link: refused", path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("directory %s is writable by others (mode %04o): refused until `chmod go-w` makes it yours alone",
			path, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("directory %s belongs to user %d, not to us (%d): refused", path, st.Uid, os.Geteuid())
	}
	return nil
}
