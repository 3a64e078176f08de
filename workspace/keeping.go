package workspace

import (
	"context"
	"path/filepath"

	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/model"
)

// Kept is a deleted workspace as its snapshot describes it.
type Kept = keep.Kept

// Restore brings back what a delete of w kept. If the delete kept nothing because
// all of it is elsewhere, Restore makes w again. It returns the updated w, and
// notes, one per line, on what differs from before: a branch whose name is
// taken gets a number, and some files may not have been kept. It returns
// ErrOccupied if something else has the workspace's place, and ErrNoSnapshot if
// nothing was kept. After an error the snapshot is still there, and nothing
// else of the restore. After a crash another Restore completes it.
func (m *Manager) Restore(ctx context.Context, w Workspace, progress Progress) (Workspace, []string, error) {
	back, notes, err := keep.Restore(ctx, m.base, w, progress)
	if err != nil || w.RestoreFrom != FromTip || w.Mode != ModeWorktree {
		return back, notes, err
	}
	whole, err := m.Checkout(ctx, CreateRequest{}, back, progress)
	if err != nil {
		undo := func(ctx context.Context) error { return m.Undo(ctx, back, false) }
		return Workspace{}, nil, model.Unwind(ctx, []func(context.Context) error{undo}, err)
	}
	return whole, notes, nil
}

// Apart returns w, which is deleted, with its place in the manager's own base: there
// Restore brings it back then. A directory that a delete has kept beside the old place
// can only go back to that, by a rename: then Apart returns w as it is.
func (m *Manager) Apart(w Workspace) (_ Workspace, err error) {
	defer model.Containing(w.Name, &err)
	if held, err := basedir.Holding(m.base, w); err == nil {
		defer held.Close()
		if _, err := held.Lstat(basedir.KeptName(w.ID)); err == nil {
			return w, nil
		}
	}
	base, err := basedir.Make(m.base)
	if err != nil {
		return w, err
	}
	defer base.Close()
	w.Root, w.BaseDir = filepath.Join(base.Name(), w.ID), ""
	return w, nil
}

// Snapshots returns the deleted workspaces of our base that a repository keeps.
// others maps the ids of the rest to the reason: they cannot be read, or belong
// to another base.
func (m *Manager) Snapshots(ctx context.Context, gitDir, repository string) (list []Kept, others map[string]error, err error) {
	return keep.Snapshots(ctx, append([]string{m.base}, m.given()...), gitDir, repository)
}

// Forget deletes for good what is kept of a deleted workspace. Nothing kept is
// no error. If it cannot find out whether anything is kept it returns an error
// and changes nothing.
func (m *Manager) Forget(ctx context.Context, w Workspace) error {
	return keep.Forget(ctx, m.base, w)
}

// IsKept reports whether a restore could bring back a deleted workspace.
func (m *Manager) IsKept(ctx context.Context, w Workspace) (bool, error) {
	return keep.IsKept(ctx, m.base, w)
}
