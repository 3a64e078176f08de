package workspace

import (
	"context"
	"path/filepath"

	"middleman/workspace/leftover"
)

// The types for leftovers and moved workspaces are declared in package
// leftover.
type (
	// Leftover is something that exists although no workspace has it, or
	// something that a workspace should have and that is missing.
	Leftover = leftover.Leftover
	// Records are what the caller has stored. What they do not own is left
	// over.
	Records = leftover.Records
	// Recorded reads the current records. The caller must record a workspace
	// before anything of it is made, and keep the record until all of it is
	// gone.
	Recorded = leftover.Recorded
	// Passed is a worktree or snapshot that is not imported, and the reason.
	Passed = leftover.Passed
	// Whereabouts says which parts of a workspace were moved or are gone.
	Whereabouts = leftover.Whereabouts
)

// The kinds of leftovers that the caller finds, which has the records, and some
// of those that this package finds, which no record owns: from LeftoverDirectory
// on. Package leftover has the others.
const (
	LeftoverMissing   = leftover.KindMissing   // a workspace whose directory is gone
	LeftoverFailed    = leftover.KindFailed    // a workspace that could not be made or deleted
	LeftoverMoved     = leftover.KindMoved     // a workspace whose repository or directory is not where it was
	LeftoverWorker    = leftover.KindWorker    // the workspace of a worker that has ended
	LeftoverDeleted   = leftover.KindDeleted   // a deleted workspace that is old, or that cannot be restored
	LeftoverEphemeral = leftover.KindEphemeral // an ephemeral workspace whose command has ended
	LeftoverRecord    = leftover.KindRecord    // the record of a worker that has ended and whose parent is gone
	LeftoverSession   = leftover.KindSession   // state of an ended session whose workspace is gone
	LeftoverDirectory = leftover.KindDirectory // a directory in the base that no workspace has
	LeftoverTrash     = leftover.KindTrash     // a directory that a delete was removing
	LeftoverBranch    = leftover.KindBranch    // a branch made for a workspace that is gone
	LeftoverUnknown   = leftover.KindUnknown   // could not be inspected
)

// Errors of Prune and Repair.
var (
	// ErrNotLeft: a leftover is gone, or may not be removed any more.
	ErrNotLeft = leftover.ErrNotLeft
	// ErrStays: a leftover could not be removed, or not all of it.
	ErrStays = leftover.ErrStays
	// ErrMoved: a part of a workspace is not where it was, and we do not know
	// where it is.
	ErrMoved = leftover.ErrMoved
)

// finder returns a Finder for the base of m.
func (m *Manager) finder() leftover.Finder {
	return leftover.Finder{Base: m.base, Given: m.given(), Prefix: m.prefix, Inspect: m.Inspect,
		Delete: func(ctx context.Context, w Workspace) (Loss, error) { return m.Delete(ctx, w, false, nil) },
		Vanish: func(ctx context.Context, w Workspace) (Loss, error) { return m.deleteVanished(ctx, w, false) },
	}
}

// given returns the base directory that the user has named for all worktrees, in a
// list, or none.
func (m *Manager) given() []string {
	if !m.location.isPath() {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(string(m.location)); err == nil {
		return []string{resolved}
	}
	return []string{filepath.Clean(string(m.location))}
}

// Leftovers finds what no record owns: in the base directories, and in the
// repositories that the records and the bases lead to. It changes nothing. What
// it cannot inspect is not prunable, and its Why says so.
func (m *Manager) Leftovers(ctx context.Context, recorded Recorded) ([]Leftover, error) {
	return m.finder().Leftovers(ctx, recorded)
}

// Prune removes one result of Leftovers, if it may still be removed by what
// exists and is recorded now. It returns the workspace that was in it, and what
// its deletion lost: if Loss is Restorable a restore brings it back. It never
// touches a creation or restore in progress. If git cannot answer, nothing is
// removed.
func (m *Manager) Prune(ctx context.Context, l Leftover, recorded Recorded) (Workspace, Loss, error) {
	return m.finder().Prune(ctx, l, recorded)
}

// Identify rebuilds the record of the workspace whose directory in the base is
// named id, or was before a delete moved it. It reads the directory and its
// repository. A worktree is ours if the repository has an entry for it that is
// locked with our reason. A directory without .git is ours if its name is one
// of our ids. If it cannot be proved Identify returns an ErrUnknown, and
// without a directory an ErrMissing.
func (m *Manager) Identify(ctx context.Context, id string) (Workspace, error) {
	return m.finder().Identify(ctx, id)
}

// Importable returns the record that the directory at path would have as a
// workspace. If it was ours and its record was lost, it keeps its id. A
// directory that a delete kept aside is in StateDeleted. Any other directory
// must lie in a checkout. It becomes an in-place workspace, which we never
// delete, and has no id. Nothing is changed.
func (m *Manager) Importable(ctx context.Context, path string) (Workspace, error) {
	return m.finder().Importable(ctx, path)
}

// Adopt moves the directory of a workspace from Importable back to its place,
// if an interrupted delete had moved it.
func (m *Manager) Adopt(w Workspace) error {
	return m.finder().Adopt(w)
}

// Candidates returns the worktrees of dir's repository that could be
// workspaces, except the main checkout, and the deleted workspaces that the
// repository keeps. Nothing is changed.
func (m *Manager) Candidates(ctx context.Context, dir string) (list []Workspace, kept []Kept, passed []Passed, err error) {
	return m.finder().Candidates(ctx, dir)
}

// Unrecorded returns the workspaces in our base that are provably ours and have
// no record. Nothing is changed.
func (m *Manager) Unrecorded(ctx context.Context, recorded Recorded) ([]Workspace, error) {
	return m.finder().Unrecorded(ctx, recorded)
}

// Repair finds the moved parts of w and updates git's files. It returns the
// updated w, and what it found, one line each. repository, if not "", is a
// directory in the repository at its new place. That must prove that it is w's
// repository: it has w's entry, locked with our reason, and w's branch. A
// worktree that the user moved with git becomes an in-place workspace. With
// dryRun nothing is changed.
func (m *Manager) Repair(ctx context.Context, w Workspace, repository string, dryRun bool) (Workspace, []string, error) {
	return m.finder().Repair(ctx, w, repository, dryRun)
}

// RepairDeleted is Repair for a deleted workspace: it finds its snapshot in
// repository, or its kept directory in our base if that was moved.
func (m *Manager) RepairDeleted(ctx context.Context, w Workspace, repository string) (Workspace, error) {
	return m.finder().RepairDeleted(ctx, w, repository)
}

// Where finds the workspace's directory and repository. It runs no program. An
// error means that it could not find out.
func (m *Manager) Where(w Workspace) (x Whereabouts, err error) {
	return m.finder().Where(w)
}
