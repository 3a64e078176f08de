package workspace

import (
	"context"

	"middleman/workspace/keep"
)

// Kept is a deleted workspace as its snapshot tells of it.
type Kept = keep.Kept

// Restore brings back what a delete of w has kept, and returns w as it is now
// and, a line each, what is not as it was: a branch whose name is taken by now
// gets a number, and some files may not have been kept. Where there is
// something in the workspace's place, that is ErrOccupied; where nothing is
// kept of it, ErrNoSnapshot. On an error the snapshot is there still and
// nothing else is, and after a crash another Restore goes on to the end.
func (m *Manager) Restore(ctx context.Context, w Workspace, progress Progress) (Workspace, []string, error) {
	return keep.Restore(ctx, m.base, w, progress)
}

// Snapshots are the deleted workspaces of our base that a repository keeps,
// and the ids of those that cannot be read or are of another base, with why.
func (m *Manager) Snapshots(ctx context.Context, gitDir, repository string) (list []Kept, others map[string]error, err error) {
	return keep.Snapshots(ctx, m.base, gitDir, repository)
}

// Forget lets go of what is kept of a deleted workspace, for good. Where it
// cannot be found out whether anything is kept, that is an error and nothing
// is changed; nothing kept is none.
func (m *Manager) Forget(ctx context.Context, w Workspace) error {
	return keep.Forget(ctx, m.base, w)
}

// IsKept reports whether anything is kept of a deleted workspace that a
// restore could bring back.
func (m *Manager) IsKept(ctx context.Context, w Workspace) (bool, error) {
	return keep.IsKept(ctx, m.base, w)
}
