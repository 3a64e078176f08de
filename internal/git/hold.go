package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"middleman/internal/private"
)

// maxHeld is how long HoldEntry and its like wait for another git. A git that outlived its
// server ends soon: its next progress report fails, because the pipe is closed.
const maxHeld = 20 * time.Second

// HoldEntry locks entry, git's directory for one worktree. The git that fills
// that worktree inherits the lock (see Command.Holds), so none is still filling
// it when HoldEntry returns. It waits up to 20 seconds, or until ctx ends. The
// caller closes the file. The file is nil on Windows, which has no such locks;
// git ends together with the server there, because it is in the server's job
// object.
func HoldEntry(ctx context.Context, entry string) (*os.File, error) {
	return hold(ctx, entry, "another git is still filling the worktree of")
}

// HoldBranches locks a repository for a process that checks that a branch is free
// and then checks it out: git itself lets two processes do that at once. It waits
// like HoldEntry. The caller closes the file, which is nil on Windows.
func HoldBranches(ctx context.Context, commonDir string) (*os.File, error) {
	return hold(ctx, commonDir, "another process is still making a worktree of")
}

// HoldDeletes locks a repository for a delete of a workspace, which counts on the branches
// that other workspaces have: another server may delete one of these. It waits like
// HoldEntry. The caller closes the file, which is nil on Windows.
func HoldDeletes(ctx context.Context, commonDir string) (*os.File, error) {
	// HoldBranches has the directory itself, and is used in a delete.
	return hold(ctx, filepath.Join(commonDir, "objects"), "another server is still deleting a workspace of the repository that has")
}

func hold(ctx context.Context, dir, busy string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxHeld, fmt.Errorf("%s %s: try again later", busy, dir))
	defer cancel()
	for {
		f, err := private.TryLockDir(dir)
		if !errors.Is(err, private.ErrHeld) {
			return f, err
		}
		select {
		case <-time.After(tryPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
