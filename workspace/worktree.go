package workspace

import (
	"context"
	"errors"
	"fmt"
)

func (m *Manager) createWorktree(ctx context.Context, r CreateRequest, w *Workspace, report Progress) error {
	return fmt.Errorf("mode worktree: %w", errors.ErrUnsupported)
}

// Inspect says what deleting w would destroy. An error means that this could
// not be found out, and must be read as "do not delete".
func (m *Manager) Inspect(ctx context.Context, w Workspace) (Loss, error) {
	return Loss{}, fmt.Errorf("inspect %s: %w", w.Name, errors.ErrUnsupported)
}

// Delete deletes w. Unless discard is true it refuses with a *WorkError where
// work would be lost, and with an error wrapping ErrUnknown where that cannot
// be found out. A directory that is gone already deletes too.
func (m *Manager) Delete(ctx context.Context, w Workspace, discard bool, progress Progress) (Loss, error) {
	return Loss{}, fmt.Errorf("delete %s: %w", w.Name, errors.ErrUnsupported)
}
