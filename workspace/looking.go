package workspace

import (
	"context"
	"errors"
	"fmt"

	"middleman/internal/watch"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// The types of inspections are declared in package look.
type (
	// Status is the state of a workspace at the time AsOf. A part that is not
	// known is nil, never zero, and Unknown says why.
	Status = look.Status
	// Files counts the differences in a checkout as git status does.
	Files = look.Files
	// Distance counts the commits that HEAD has and the other side lacks, and
	// the reverse.
	Distance = look.Distance
	// Against says what to compare a workspace with.
	Against = look.Against
	// DiffRequest says what to compare.
	DiffRequest = look.DiffRequest
	// Comparison compares a workspace's checkout with a commit. The caller
	// closes it.
	Comparison = look.Comparison
	// Diff lists the differences between a workspace and what it is compared
	// with.
	Diff = look.Diff
	// FileChange is one file that differs.
	FileChange = look.FileChange
	// CommitsRequest says which commits to list.
	CommitsRequest = look.CommitsRequest
	// Commits is a page of the commits that one side has and the other lacks.
	Commits = look.Commits
	// Commit is one commit.
	Commit = look.Commit
	// Forecast says what merging two workspaces would do.
	Forecast = look.Forecast
)

// The values of Against.
const (
	AgainstBase      = look.AgainstBase      // the base as it is now
	AgainstMergeBase = look.AgainstMergeBase // where the workspace branched off the current base
	AgainstHead      = look.AgainstHead      // its own HEAD: shows what is not committed
	AgainstUpstream  = look.AgainstUpstream  // its branch's upstream, as last fetched
)

// ErrNothingToCompare: there is no such base, upstream or common history.
var ErrNothingToCompare = look.ErrNothingToCompare

// Inspect returns what deleting w would destroy. It runs no program of the
// repository and writes nothing. An error means that it could not find out, and
// that w must not be deleted. It wraps ErrMissing if the directory is gone;
// then Loss is what git still knows. Restorable and Unkept say what a delete
// with consent would keep.
func (m *Manager) Inspect(ctx context.Context, w Workspace) (_ Loss, err error) {
	defer model.Containing(w.Name, &err)
	private, err := m.held(ctx, w)
	if err != nil {
		return private, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	if w.Mode == ModeInPlace {
		private.Restorable = private.Sandboxed
		return private, nil
	}
	dir, err := basedir.Locate(m.base, w)
	if err != nil {
		return Loss{}, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	seen, err := look.ForDelete(ctx, w, dir, m.ownsBranch(w))
	seen.Loss = seen.Loss.WithSandbox(private)
	if err != nil && !errors.Is(err, ErrMissing) {
		err = keep.Unreadable(w, dir, seen, look.Unkeepable(ctx, w, err))
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

// Status returns the status of w. It runs no program of the repository and
// writes nothing. It returns an error only if there is no status at all, such
// as ErrNotRepository or ErrMissing.
func (m *Manager) Status(ctx context.Context, w Workspace) (Status, error) {
	return m.inspector.Status(ctx, w)
}

// Mark returns a string that depends on everything which influences a status of
// w and shows without git: HEAD, index, refs, operation, the top of the
// checkout. If two marks differ something has changed. If they are equal, files
// may still have changed. upstream is Status.Upstream.Of, or "".
func (m *Manager) Mark(w Workspace, upstream string) string { return look.Mark(w, upstream) }

// Tree returns the directories in which a change can change the status of w. It
// is for display: what a delete decides never rests on events.
func (m *Manager) Tree(ctx context.Context, w Workspace) (watch.Tree, error) {
	return m.inspector.Tree(ctx, w)
}

// Compare prepares a comparison of w with what r asks for.
func (m *Manager) Compare(ctx context.Context, w Workspace, r DiffRequest) (*Comparison, error) {
	return m.inspector.Compare(ctx, w, r)
}

// Commits lists the commits that HEAD has and the current base lacks, or with
// Behind the reverse.
func (m *Manager) Commits(ctx context.Context, w Workspace, r CommitsRequest) (Commits, error) {
	return m.inspector.Commits(ctx, w, r)
}

// Forecast compares w with each of others, which must be of the same
// repository. It merges commits into temporary objects, and writes nothing to
// the repository. An error concerns w. What is unknown of another workspace is
// in its Forecast.
func (m *Manager) Forecast(ctx context.Context, w Workspace, others []Workspace) ([]Forecast, error) {
	return m.inspector.Forecast(ctx, w, others)
}
