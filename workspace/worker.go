package workspace

import (
	"context"
	"errors"
	"fmt"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// WorkerRoot returns the directory for a worker of parent with that id: below
// the parent's scope, which need not be the repository's top. It need not
// exist, and does not if the scope is exposed (CreateRequest.Exposed).
func WorkerRoot(parent Workspace, id string) (string, error) {
	scope, err := basedir.ScopeFor(parent)
	if err != nil {
		return "", err
	}
	return basedir.InScope(scope, id), nil
}

// CheckDirectory checks that path is a directory within the scope of w's
// sessions, and returns its canonical form. It resolves links first. It refuses
// a link whose target does not exist, because that cannot be checked. It makes
// and runs nothing.
func CheckDirectory(w Workspace, path string) (string, error) {
	scope, err := basedir.ScopeFor(w)
	if err != nil {
		return "", err
	}
	return basedir.Within(scope, path)
}

// checkWorker refuses a worker that would leave its parent's scope. It only
// looks at files and does not run git.
func checkWorker(r CreateRequest) error {
	if r.Mode != ModeWorktree {
		return fmt.Errorf("mode %s: a worker has a worktree of its own, or shares its parent's directory: %w", r.Mode, ErrBadRequest)
	}
	if r.Parent.Mode == ModeDirectory {
		return fmt.Errorf("workspace %s is a plain directory, which has no branches; a worker can share it: %w", r.Parent.Name, ErrNotRepository)
	}
	scope, err := basedir.ScopeFor(*r.Parent)
	if err != nil {
		return err
	}
	if _, err := basedir.Within(scope, r.Directory); err != nil {
		return err
	}
	return basedir.CheckIn(scope)
}

// locate finds the repository of r. For a worker it is the one in which its
// parent was made: a program may have put another into the directory since.
func locate(ctx context.Context, r CreateRequest) (git.Repository, error) {
	if r.repository.Main != "" {
		return r.repository, nil
	}
	if r.Parent == nil || r.Parent.Mode != ModeWorktree {
		return git.Discover(ctx, r.Directory)
	}
	entry, err := git.FindEntry(r.Parent.GitDir, r.Parent.ID, r.Parent.Root)
	if err != nil {
		return git.Repository{}, err
	}
	if entry == "" {
		return git.Repository{}, fmt.Errorf("%s: its repository %s has no worktree there: %w", plaintext.Quoted(r.Parent.Root), r.Parent.GitDir, ErrNotRepository)
	}
	if err := look.CheckGitFile(r.Parent.Root, entry); err != nil {
		return git.Repository{}, err
	}
	here := git.Dirs{GitDir: entry, CommonDir: r.Parent.GitDir, WorkTree: r.Parent.Root}
	return git.Repository{Here: here, Main: r.Parent.Repository}, nil
}

// Tip returns the commit of w's branch, or "" if there is none.
func (m *Manager) Tip(ctx context.Context, w Workspace) (_ string, err error) {
	defer model.Containing(w.Name, &err)
	if w.Branch == "" || w.GitDir == "" {
		return "", nil
	}
	tip, err := git.Whole(w.GitDir).Ref(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return "", fmt.Errorf("find the commit of branch %s: %w", plaintext.Quoted(w.Branch), err)
	}
	return tip, nil
}

// workerBranches are the possible names of the branch of a worker with that name.
// The second is for a repository that has a branch <prefix>/worker, which excludes
// the first.
func (m *Manager) workerBranches(name string) []string {
	return []string{m.prefix + "/worker/" + name, m.prefix + "/worker-" + name}
}

// claimWorkerBranch is claimBranch for a worker.
func (m *Manager) claimWorkerBranch(ctx context.Context, repo git.Dirs, r CreateRequest, commit string) (branch string, err error) {
	for _, first := range m.workerBranches(r.Name) {
		branch, err = claimNumbered(ctx, repo, first, r.ID, commit)
		if _, inWay := errors.AsType[*BranchInWayError](err); !inWay {
			return branch, err
		}
	}
	return "", err
}

// Uncommitted counts the uncommitted files in the checkout of the parent of the
// worker that r asks for. The worker will not have them. No program of the
// repository runs.
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
