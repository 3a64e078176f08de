package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/private"
)

// RemoveTemp removes the temporary files of a session that has ended, and secrets that
// no proxy has taken. What it shares with the host stays.
func (m Maker) RemoveTemp(session string) error {
	err := os.Remove(m.Dirs.Secrets(session))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, private.RemoveTree(m.tempDir(session)))
}

// Forget removes what is kept of a session.
func (m Maker) Forget(session string) error { return private.RemoveTree(m.Dirs.Sandbox(session)) }

// ForgetWorkspace removes what is kept for the sessions of a workspace: caches, and the
// copies of agents' directories.
func (m Maker) ForgetWorkspace(id string) error { return private.RemoveTree(m.Dirs.Private(id)) }

// ForgetCaches removes the caches of a workspace, and keeps the copies.
func (m Maker) ForgetCaches(id string) error {
	return private.RemoveTree(filepath.Join(m.Dirs.Private(id), cacheDirectory))
}
