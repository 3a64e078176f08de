package workspace

import (
	"context"
	"fmt"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

const (
	maxBranch = 200 // bytes; git stores each part of a branch's name as a file name
)

// claimBranch makes the branch of a new workspace at commit, and returns its
// name. If several processes claim one name git lets one of them succeed, and
// the others try the next name. A branch that the user named has no substitute.
func (m *Manager) claimBranch(ctx context.Context, repo git.Dirs, r CreateRequest, commit string) (string, error) {
	if r.Branch != "" {
		if err := checkBranch(ctx, repo, r.Branch); err != nil {
			return "", err
		}
		made, err := repo.MakeBranch(ctx, r.Branch, commit, model.MadeFor(r.ID))
		if err != nil || made {
			return r.Branch, err
		}
		return "", repo.BranchTaken(ctx, r.Branch)
	}
	if r.Parent != nil {
		return m.claimWorkerBranch(ctx, repo, r.ID, commit)
	}
	first := m.prefix + "/" + r.Name
	for n := 1; n <= model.MaxSuffix; n++ {
		branch := first
		if n > 1 {
			branch = fmt.Sprintf("%s-%d", first, n)
		}
		if made, err := repo.MakeBranch(ctx, branch, commit, model.MadeFor(r.ID)); err != nil || made {
			return branch, err
		}
	}
	return "", fmt.Errorf("branch %s and %d more with a number: %w", first, model.MaxSuffix-1, ErrBranchTaken)
}

// checkBranch refuses a name that git does not accept for a branch, and one
// that git accepts but later reads as another ref.
func checkBranch(ctx context.Context, repo git.Dirs, branch string) error {
	if branch == "@" || branch == "HEAD" || strings.HasPrefix(branch, "refs/") {
		return fmt.Errorf("branch %s: git reads that as another ref; give a plain name such as fix/login: %w", plaintext.Quoted(branch), ErrBadName)
	}
	if len(branch) > maxBranch || strings.HasPrefix(branch, "-") || strings.ContainsRune(branch, 0) {
		return fmt.Errorf("branch %s: %w", plaintext.Quoted(branch[:min(len(branch), 100)]), ErrBadName)
	}
	// git expands @{-1} and the like to another name.
	if out, err := repo.Look("check-ref-format", "--branch", branch).Line(ctx); err != nil && git.ExitCode(err) < 0 {
		return err
	} else if err != nil || out != branch {
		return fmt.Errorf("branch %s: %w", plaintext.Quoted(branch), ErrBadName)
	}
	return nil
}

// ownsBranch reports whether we may delete the branch of w: it is below our
// prefix. A branch with another name belongs to the user.
func (m *Manager) ownsBranch(w Workspace) bool {
	return !m.keepBranches && strings.HasPrefix(w.Branch, m.prefix+"/")
}
