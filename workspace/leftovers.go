package workspace

import (
	"context"

	"middleman/workspace/leftover"
)

// What is left over, or is not where it was, is declared in package leftover.
type (
	// LeftoverKind is what a leftover is.
	LeftoverKind = leftover.Kind
	// Leftover is something that is there though no workspace has it, or the
	// other way round.
	Leftover = leftover.Leftover
	// Records are what the caller has stored: what they do not own is left over.
	Records = leftover.Records
	// Recorded reads the records as they are now. A workspace must be recorded
	// before anything of it is made, and until the last of it is gone.
	Recorded = leftover.Recorded
	// Passed is a worktree that is not imported, and why.
	Passed = leftover.Passed
	// Whereabouts says where what belongs to a workspace is by now.
	Whereabouts = leftover.Whereabouts
)

// The kinds of leftovers. Package workspace finds those that no record owns;
// the first ones and sessions are for whoever has the records to find.
const (
	LeftoverMissing   = leftover.KindMissing   // a workspace whose directory is gone
	LeftoverFailed    = leftover.KindFailed    // a workspace that could not be made or deleted
	LeftoverMoved     = leftover.KindMoved     // a workspace whose repository or directory is not where it was
	LeftoverWorker    = leftover.KindWorker    // the workspace of a worker that has ended
	LeftoverDeleted   = leftover.KindDeleted   // a deleted workspace that is old, or of which nothing is kept
	LeftoverEphemeral = leftover.KindEphemeral // an ephemeral workspace whose command has ended
	LeftoverSession   = leftover.KindSession   // state of an ended session whose workspace is gone
	LeftoverDirectory = leftover.KindDirectory // in the base, of no workspace
	LeftoverTrash     = leftover.KindTrash     // what a delete was removing
	LeftoverDeleting  = leftover.KindDeleting  // what a delete took out of reach and has not looked at twice
	LeftoverRestoring = leftover.KindRestoring // what a restore was putting together
	LeftoverKept      = leftover.KindKept      // what a delete kept because no repository can hold it
	LeftoverEntry     = leftover.KindEntry     // git's entry for a worktree that is gone
	LeftoverBranch    = leftover.KindBranch    // made for a workspace that is gone
	LeftoverSnapshot  = leftover.KindSnapshot  // of a deleted workspace that nobody knows
	LeftoverUnknown   = leftover.KindUnknown   // what could not be looked at
)

// What keeps a leftover, and a repair.
var (
	// ErrNotLeft: a leftover is not there any more, or may not go any more.
	ErrNotLeft = leftover.ErrNotLeft
	// ErrMoved: what belongs to a workspace is not where it was, and where it is
	// by now is not known.
	ErrMoved = leftover.ErrMoved
)

// finder finds what is left over in the base of m.
func (m *Manager) finder() leftover.Finder {
	return leftover.Finder{Base: m.base, Prefix: m.prefix, Inspect: m.Inspect,
		Delete: func(ctx context.Context, w Workspace) (Loss, error) { return m.Delete(ctx, w, false, nil) },
		Vanish: func(ctx context.Context, w Workspace) (Loss, error) { return m.deleteVanished(ctx, w, false) },
	}
}

// Leftovers finds what no record owns: in the base directory, and in the
// repositories that the records and the base lead to. It changes nothing. What
// it cannot look at is not prunable, and says why.
func (m *Manager) Leftovers(ctx context.Context, recorded Recorded) ([]Leftover, error) {
	return m.finder().Leftovers(ctx, recorded)
}

// Prune removes one of what Leftovers found, if it may still go by what is
// there and recorded now, and returns the workspace that was in it and what a
// delete made of that: where Loss is Restorable, a restore brings it back. A
// creation or restore in progress is never touched, and what git does not
// answer for stays.
func (m *Manager) Prune(ctx context.Context, l Leftover, recorded Recorded) (Workspace, Loss, error) {
	return m.finder().Prune(ctx, l, recorded)
}

// Identify is the record of the workspace that the directory called id in the
// base is, or was before a delete moved it, as far as it can be read from there
// and from its repository: a worktree is ours where the repository has an
// entry for it that is locked with our reason, a directory without .git where
// it has an id of ours as its name. What cannot be proved is an ErrUnknown,
// and no directory an ErrMissing.
func (m *Manager) Identify(ctx context.Context, id string) (Workspace, error) {
	return m.finder().Identify(ctx, id)
}

// Importable is the record that the directory at path would have as a
// workspace. One that was ours, and whose record was lost, has its id; a
// directory that a delete has kept aside is in StateDeleted. Anything else must
// be in a checkout, by whomever it was made: it is in place, so that nothing
// of ours ever deletes it, and has no id. Nothing is changed.
func (m *Manager) Importable(ctx context.Context, path string) (Workspace, error) {
	return m.finder().Importable(ctx, path)
}

// Adopt has the directory of a workspace that Importable gave in its place:
// an interrupted delete may have moved it.
func (m *Manager) Adopt(w Workspace) error {
	return m.finder().Adopt(w)
}

// Candidates are the worktrees of the repository of dir that could be
// workspaces, but for its main checkout, and the deleted workspaces that it
// keeps. Nothing is changed.
func (m *Manager) Candidates(ctx context.Context, dir string) (list []Workspace, kept []Kept, passed []Passed, err error) {
	return m.finder().Candidates(ctx, dir)
}

// Unrecorded are the workspaces in our base whose records were lost: what is
// proved to be ours and has none. Nothing is changed.
func (m *Manager) Unrecorded(ctx context.Context, recorded Recorded) ([]Workspace, error) {
	return m.finder().Unrecorded(ctx, recorded)
}

// Repair finds what belongs to w after it was moved, has git's own files say
// where it is now, and returns w as it is then and what it found, a line each.
// repository, unless it is "", is a directory in the repository where that is
// by now. It counts as that of w on proof: it has the entry of w, locked with
// our reason, and its branch. A worktree that the user has moved with git is
// theirs from then on. With dryRun nothing is changed.
func (m *Manager) Repair(ctx context.Context, w Workspace, repository string, dryRun bool) (Workspace, []string, error) {
	return m.finder().Repair(ctx, w, repository, dryRun)
}

// RepairDeleted is Repair for a deleted workspace: what is kept of it is found
// again in repository, or in our base if that was moved.
func (m *Manager) RepairDeleted(ctx context.Context, w Workspace, repository string) (Workspace, error) {
	return m.finder().RepairDeleted(ctx, w, repository)
}

// Where looks where the workspace's directory and repository are. It runs no
// program. An error means that this could not be found out.
func (m *Manager) Where(w Workspace) (x Whereabouts, err error) {
	return m.finder().Where(w)
}
