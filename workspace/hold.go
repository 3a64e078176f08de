package workspace

import (
	"context"
	"fmt"
	"os"
	"time"
)

// maxHeld is how long is waited for the git of a server that was killed: one
// that outlives it ends when it next says how far it is, which nobody reads.
const maxHeld = 20 * time.Second

// holdEntry takes the lock of git's directory for a worktree, which the git
// that fills the worktree holds as well: so what has it was left by nobody who
// is still at it. Whoever gets it closes the file, which may be nil.
func holdEntry(ctx context.Context, entry string) (*os.File, error) {
	deadline := time.Now().Add(maxHeld)
	for {
		f, ok, err := tryHold(entry)
		if ok || err != nil {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another git is filling the worktree of %s still: try again later", entry)
		}
		select {
		case <-time.After(tryPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
