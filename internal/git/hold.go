package git

import (
	"context"
	"fmt"
	"os"
	"time"
)

// maxHeld is how long HoldEntry waits for another git. A git that outlived its
// server ends soon: its next progress report fails, because the pipe is closed.
const maxHeld = 20 * time.Second

// HoldEntry locks entry, git's directory for one worktree. The git that fills
// that worktree inherits the lock (see Command.Holds), so none is still filling
// it when HoldEntry returns. It waits up to 20 seconds, or until ctx ends. The
// caller closes the file. The file is nil if the system has no such locks.
func HoldEntry(ctx context.Context, entry string) (*os.File, error) {
	deadline := time.Now().Add(maxHeld)
	for {
		f, ok, err := tryHold(entry)
		if ok || err != nil {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another git is still filling the worktree of %s: try again later", entry)
		}
		select {
		case <-time.After(tryPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
