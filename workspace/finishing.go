package workspace

import (
	"context"

	"middleman/workspace/finish"
)

// The types of merges and pushes are declared in package finish.
type (
	// Strategy says what a merge makes of the workspace's commits.
	Strategy = finish.Strategy
	// MergeRequest says what to merge, and how.
	MergeRequest = finish.MergeRequest
	// Merged says what a merge has done, or would do.
	Merged = finish.Merged
	// PushRequest says where to push.
	PushRequest = finish.PushRequest
	// Pushed says what a push has done, or would do.
	Pushed = finish.Pushed
	// FilesError is an error about files. It wraps ErrUncommitted, ErrConflict
	// or ErrInUse.
	FilesError = finish.FilesError
)

// The values of Strategy.
const (
	StrategyMerge  = finish.StrategyMerge  // its commits stay as they are
	StrategyRebase = finish.StrategyRebase // copies of them follow the base
	StrategySquash = finish.StrategySquash // one commit has all that they change
)

// Errors of Merge and Push.
var (
	// ErrUncommitted: the workspace has changes that no commit has.
	ErrUncommitted = finish.ErrUncommitted
	// ErrConflict: both sides changed the same lines.
	ErrConflict = finish.ErrConflict
	// ErrInUse: the branch is checked out somewhere, and that checkout cannot be
	// brought forward.
	ErrInUse = finish.ErrInUse
	// ErrCommitted: a commit was made meanwhile.
	ErrCommitted = finish.ErrMoved
	// ErrRejected: the remote did not take the branch.
	ErrRejected = finish.ErrRejected
	// ErrPush: the remote could not be reached, or it broke off.
	ErrPush = finish.ErrPush
)

// Merge merges the commits of w into a branch of its repository, and brings
// forward the checkout that has that branch, if one has. After an error branch,
// files and workspace are as they were. It never changes w.
func (m *Manager) Merge(ctx context.Context, w Workspace, r MergeRequest) (Merged, error) {
	return finish.Finisher{Inspector: m.inspector}.Merge(ctx, w, r)
}

// Push pushes the branch that w has checked out to the branch of that name at a
// remote, and makes that its upstream. It never overwrites commits of the remote.
func (m *Manager) Push(ctx context.Context, w Workspace, r PushRequest) (Pushed, error) {
	return finish.Finisher{Inspector: m.inspector}.Push(ctx, w, r)
}
