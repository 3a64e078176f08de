package workspace

import (
	"context"

	"middleman/workspace/finish"
)

// The types of merges are declared in package finish.
type (
	// Strategy says what a merge makes of the workspace's commits.
	Strategy = finish.Strategy
	// MergeRequest says what to merge, and how.
	MergeRequest = finish.MergeRequest
	// Merged says what a merge has done, or would do.
	Merged = finish.Merged
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

// Errors of Merge.
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
)

// Merge merges the commits of w into a branch of its repository, and brings
// forward the checkout that has that branch, if one has. After an error branch,
// files and workspace are as they were. It never changes w.
func (m *Manager) Merge(ctx context.Context, w Workspace, r MergeRequest) (Merged, error) {
	return finish.Finisher{Inspector: m.inspector}.Merge(ctx, w, r)
}
