package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// WorkerRoot is where a worker of parent with that id is made: under the
// scope's root, which need not be the repository's top. It need not exist.
func WorkerRoot(parent Workspace, id string) (string, error) {
	scope, err := checkedScope(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(scope, workPlace, id), nil
}

// checkWorker refuses a worker that would leave its parent's scope. It looks
// at files alone: git does not run before it.
func checkWorker(r CreateRequest) error {
	if r.Mode != ModeWorktree {
		return fmt.Errorf("mode %s: a worker has a worktree of its own, or shares its parent's directory: %w", r.Mode, ErrBadRequest)
	}
	if r.Parent.Mode == ModeDirectory {
		return fmt.Errorf("workspace %s is a plain directory, which has no branches; a worker can share it: %w", r.Parent.Name, ErrNotRepository)
	}
	scope, err := checkedScope(*r.Parent)
	if err != nil {
		return err
	}
	if _, err := within(scope, r.Directory); err != nil {
		return err
	}
	return checkPlaceIn(scope)
}

// locate finds the repository of r. A worker's is the one that its parent was
// made in: a program may have put another into the directory since.
func locate(ctx context.Context, r CreateRequest) (git.Repository, error) {
	if r.Parent == nil || r.Parent.Mode != ModeWorktree {
		return git.Discover(ctx, r.Directory)
	}
	entry, err := git.FindEntry(r.Parent.GitDir, r.Parent.Root)
	if err != nil {
		return git.Repository{}, err
	}
	if entry == "" {
		return git.Repository{}, fmt.Errorf("%s: its repository %s has no worktree there: %w", plaintext.Quoted(r.Parent.Root), r.Parent.GitDir, ErrNotRepository)
	}
	if err := checkGitFile(r.Parent.Root, entry); err != nil {
		return git.Repository{}, err
	}
	here := git.Dirs{GitDir: entry, CommonDir: r.Parent.GitDir, WorkTree: r.Parent.Root}
	return git.Repository{Here: here, Main: r.Parent.Repository}, nil
}

// openHolding opens the base directory that w must be in: the manager's, or
// the place in a scope.
func (m *Manager) openHolding(w Workspace) (*os.Root, error) {
	if err := model.CheckID(w.ID); err != nil {
		return nil, err
	}
	if scope, ok := scopeOf(w.Root); ok {
		return m.openScoped(scope, w)
	}
	base, err := m.openExistingBase()
	if err != nil {
		return nil, err
	}
	if w.Root != filepath.Join(base.Name(), w.ID) {
		_ = base.Close()
		return nil, fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(w.Root), base.Name(), ErrEscapes)
	}
	return base, nil
}

// openScoped opens the place that holds w in scope. Where that is gone, it is
// the manager's own base, which has no w: gone is proved where the scope is
// there, or was in that base, and not where a disk may be missing.
func (m *Manager) openScoped(scope string, w Workspace) (*os.Root, error) {
	base, err := openPlace(scope, false)
	if err == nil && w.Root != filepath.Join(base.Name(), w.ID) {
		_ = base.Close()
		return nil, fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(w.Root), base.Name(), ErrEscapes)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return base, err
	}
	own, ownErr := m.openExistingBase()
	if ownErr != nil {
		return nil, errors.Join(err, ownErr)
	}
	there, lookErr := lstat(scope)
	if below, relErr := filepath.Rel(own.Name(), scope); lookErr != nil || !there && (relErr != nil || !filepath.IsLocal(below)) {
		return nil, errors.Join(err, lookErr, own.Close())
	}
	return own, nil
}

// openRestored is openHolding for a restore. What was in a scope that is gone
// by now comes back in the manager's own base.
func (r *restoration) openRestored() (err error) {
	if r.base, err = r.m.openHolding(r.w); err != nil {
		return err
	}
	if before := r.w.Root; filepath.Dir(before) != r.base.Name() {
		r.w.Root, r.moved = filepath.Join(r.base.Name(), r.w.ID), true
		r.notes = append(r.notes, fmt.Sprintf("where it was, %s, is gone: it is %s", plaintext.Quoted(before), r.w.Root))
	}
	return nil
}

// Tip is the commit that the branch of w is at, or "" where there is none.
func (m *Manager) Tip(ctx context.Context, w Workspace) (_ string, err error) {
	defer model.Containing(w.Name, &err)
	if w.Branch == "" || w.GitDir == "" {
		return "", nil
	}
	tip, err := git.Whole(w.GitDir).Ref(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return "", fmt.Errorf("look where branch %s is: %w", plaintext.Quoted(w.Branch), err)
	}
	return tip, nil
}

// workerBranches are the names that the branch of a worker may have. The
// second is for a repository with a branch <prefix>/worker, which is in the
// way of the first.
func (m *Manager) workerBranches(id string) []string {
	return []string{m.prefix + "/worker/" + id, m.prefix + "/worker-" + id}
}

// claimWorkerBranch is claimBranch for a worker: nobody else has its id.
func (m *Manager) claimWorkerBranch(ctx context.Context, repo git.Dirs, id, commit string) (string, error) {
	var err error
	for _, branch := range m.workerBranches(id) {
		var made bool
		made, err = repo.MakeBranch(ctx, branch, commit, model.MadeFor(id))
		if made {
			return branch, nil
		}
		if err == nil {
			err = fmt.Errorf("branch %s: %w", branch, ErrBranchTaken)
		}
		if _, inWay := errors.AsType[*BranchInWayError](err); !inWay {
			return "", err
		}
	}
	return "", err
}

// Uncommitted counts what the parent of a worker that r asks for has in its
// checkout and not in its HEAD: the worker will not have it. Nothing of the
// repository runs meanwhile.
func (m *Manager) Uncommitted(ctx context.Context, r CreateRequest) (int, error) {
	if err := checkWorker(r); err != nil {
		return 0, err
	}
	repo, err := locate(ctx, r)
	if err != nil {
		return 0, err
	}
	config, err := repo.Here.WithoutFilters(ctx)
	if err != nil {
		return 0, err
	}
	c := repo.Here.Look("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty")
	c.Config = config
	n := 0
	c.Each = func(string) { n++ }
	_, err = c.Run(ctx)
	return n, err
}
