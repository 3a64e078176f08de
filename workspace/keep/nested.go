package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
)

// keptReason is the reason with which we lock a worktree whose directory is in
// the snapshot of the workspace around it.
func keptReason(id string) string {
	return "middleman keeps it in the snapshot of workspace " + id
}

// lockNested locks the worktrees whose directories are deleted with workspace
// id, so that git does not prune its entries: only they have the commits, the
// index and the state of an operation. It leaves a lock of another program as
// it is.
func lockNested(entries []string, id string) error {
	for _, entry := range entries {
		f, err := os.OpenFile(filepath.Join(entry, "locked"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(keptReason(id) + "\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("keep the worktree of %s: %w", entry, err)
		}
	}
	return nil
}

// UnlockNested removes the locks that lockNested set.
func UnlockNested(commonDir, id string) error {
	entries, err := os.ReadDir(filepath.Join(commonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unlock worktrees: %w", err)
	}
	for _, entry := range entries {
		lock := filepath.Join(commonDir, "worktrees", entry.Name(), "locked")
		reason, err := git.LockReason(lock)
		if err == nil && reason == keptReason(id) {
			err = os.Remove(lock)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unlock a worktree: %w", err)
		}
	}
	return nil
}
