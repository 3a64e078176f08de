package workspace

import (
	"context"
	"errors"
	"fmt"

	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// What a look at a workspace gives is declared in package look.
type (
	// Status is how a workspace stands, as of a moment. What could not be found
	// out is nil, and Unknown says why; it is never zero.
	Status = look.Status
	// Files counts what differs in a checkout, as git status does.
	Files = look.Files
	// Distance counts the commits that HEAD has and another does not, and the
	// other way round.
	Distance = look.Distance
	// Against says what a workspace is compared with.
	Against = look.Against
	// DiffRequest says what to compare.
	DiffRequest = look.DiffRequest
	// Comparison is a workspace's checkout beside a commit. The caller closes it.
	Comparison = look.Comparison
	// Diff is what differs between a workspace and what it was compared with.
	Diff = look.Diff
	// FileChange is one file that differs.
	FileChange = look.FileChange
	// CommitsRequest says which commits to list.
	CommitsRequest = look.CommitsRequest
	// Commits is a page of the commits that one side has and the other lacks.
	Commits = look.Commits
	// Commit is one commit.
	Commit = look.Commit
	// Forecast says what would happen if two workspaces came together.
	Forecast = look.Forecast
)

// What a workspace can be compared with.
const (
	AgainstBase      = look.AgainstBase      // the base as it is now
	AgainstMergeBase = look.AgainstMergeBase // where the workspace left the base as that is now
	AgainstHead      = look.AgainstHead      // its own HEAD: what is not committed
	AgainstUpstream  = look.AgainstUpstream  // its branch's upstream, as last fetched
)

// ErrNothingToCompare: there is no such base, upstream or common history.
var ErrNothingToCompare = look.ErrNothingToCompare

// Inspect says what deleting w would destroy. Nothing of the repository runs
// meanwhile and nothing is written. An error means that this could not be
// found out and must be read as "do not delete"; it wraps ErrMissing where the
// directory is gone, and Loss is then what git still knows. Restorable and
// Unkept are what a delete with consent would keep.
func (m *Manager) Inspect(ctx context.Context, w Workspace) (_ Loss, err error) {
	defer model.Containing(w.Name, &err)
	if w.Mode == ModeInPlace {
		return Loss{}, nil
	}
	base, err := basedir.Holding(m.base, w)
	if err != nil {
		return Loss{}, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	defer base.Close()
	dir, err := basedir.Find(base, w)
	if err != nil {
		return Loss{}, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	seen, err := look.ForDelete(ctx, w, dir, m.ownsBranch(w))
	if err != nil && !errors.Is(err, ErrMissing) {
		err = look.Unkeepable(ctx, w, err)
	}
	if err != nil {
		return seen.Loss, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	loss, err := keep.Forecast(w, dir, seen)
	if err != nil {
		return loss, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	return loss, nil
}

// Status looks at w. Nothing of the repository runs meanwhile and nothing is
// written. The error is for what has no status: ErrNotRepository, ErrMissing,
// or a workspace that cannot be looked at at all.
func (m *Manager) Status(ctx context.Context, w Workspace) (Status, error) {
	return m.inspector.Status(ctx, w)
}

// Mark stands for all that a status of w depends on and that can be seen
// without git: HEAD, index, refs, operation, the top of the checkout. Where
// two marks differ, something has changed in between; where they do not, files
// may still have changed. upstream is Status.Upstream.Of, or "".
func (m *Manager) Mark(w Workspace, upstream string) string { return look.Mark(w, upstream) }

// Compare begins to compare w with what r says.
func (m *Manager) Compare(ctx context.Context, w Workspace, r DiffRequest) (*Comparison, error) {
	return m.inspector.Compare(ctx, w, r)
}

// Commits lists what HEAD has beyond the base as it is now, or lacks.
func (m *Manager) Commits(ctx context.Context, w Workspace, r CommitsRequest) (Commits, error) {
	return m.inspector.Commits(ctx, w, r)
}

// Forecast compares w with each of others, which are of the same repository.
// It merges commits in memory and in a directory of ours; nothing is written
// to the repository. The error is for w alone: what is unknown of another is
// said with it.
func (m *Manager) Forecast(ctx context.Context, w Workspace, others []Workspace) ([]Forecast, error) {
	return m.inspector.Forecast(ctx, w, others)
}
