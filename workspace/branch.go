package workspace

import (
	"context"
	"fmt"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

const (
	maxSuffix = 100 // names tried for one branch: fix, fix-2 ... fix-100
	maxBranch = 200 // bytes; a part of a branch's name is a file's
)

// claimBranch makes the branch of a new workspace at commit. git arbitrates:
// it makes a branch for one of any number of racers, and for the others
// the next name is tried. A branch that was asked for by name is not replaced
// by another.
func (m *Manager) claimBranch(ctx context.Context, repo git.Dirs, r CreateRequest, commit string) (string, error) {
	if r.Branch != "" {
		if err := checkBranch(ctx, repo, r.Branch); err != nil {
			return "", err
		}
		made, err := makeBranch(ctx, repo, r.ID, r.Branch, commit)
		if err != nil || made {
			return r.Branch, err
		}
		return "", takenBy(ctx, repo, r.Branch)
	}
	if r.Parent != nil {
		return m.claimWorkerBranch(ctx, repo, r.ID, commit)
	}
	first := m.prefix + "/" + r.Name
	for n := 1; n <= maxSuffix; n++ {
		branch := first
		if n > 1 {
			branch = fmt.Sprintf("%s-%d", first, n)
		}
		if made, err := makeBranch(ctx, repo, r.ID, branch, commit); err != nil || made {
			return branch, err
		}
	}
	return "", fmt.Errorf("branch %s and %d more with a number: %w", first, maxSuffix-1, ErrBranchTaken)
}

// takenBy is why branch cannot be made where git has it, or one below it.
func takenBy(ctx context.Context, repo git.Dirs, branch string) error {
	found, err := firstRef(ctx, repo, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if by := strings.TrimPrefix(found, "refs/heads/"); by != "" && by != branch {
		return &BranchInWayError{Branch: branch, By: by}
	}
	return fmt.Errorf("branch %s: %w", branch, ErrBranchTaken)
}

// inWay is the branch whose name is a directory in the name of branch, or "".
func inWay(ctx context.Context, repo git.Dirs, branch string) (string, error) {
	for i, c := range branch {
		if c != '/' {
			continue
		}
		if object, err := readRef(ctx, repo, "refs/heads/"+branch[:i]); err != nil || object != "" {
			return branch[:i], err
		}
	}
	return "", nil
}

// firstRef is the first ref of that name or below it, or "".
func firstRef(ctx context.Context, repo git.Dirs, ref string) (string, error) {
	return repo.Look("for-each-ref", "--count=1", "--format=%(refname)", ref).Line(ctx)
}

// checkBranch refuses what git does not take for a branch's name, and what it
// takes but reads as something else afterwards.
func checkBranch(ctx context.Context, repo git.Dirs, branch string) error {
	if branch == "@" || branch == "HEAD" || strings.HasPrefix(branch, "refs/") {
		return fmt.Errorf("branch %s: git reads that as another ref; give a plain name such as fix/login: %w", plaintext.Quoted(branch), ErrBadName)
	}
	if len(branch) > maxBranch || strings.HasPrefix(branch, "-") || strings.ContainsRune(branch, 0) {
		return fmt.Errorf("branch %s: %w", plaintext.Quoted(branch[:min(len(branch), 100)]), ErrBadName)
	}
	// It expands @{-1} and the like, to another name.
	if out, err := repo.Look("check-ref-format", "--branch", branch).Line(ctx); err != nil && git.ExitCode(err) < 0 {
		return err
	} else if err != nil || out != branch {
		return fmt.Errorf("branch %s: %w", plaintext.Quoted(branch), ErrBadName)
	}
	return nil
}

// makeBranch makes branch at commit, unless there is one of that name or
// below it. Where a part of the name is a branch, that is a *BranchInWayError.
func makeBranch(ctx context.Context, repo git.Dirs, id, branch, commit string) (bool, error) {
	const tries = 3 // a racer may have held the name and given it up again
	ref := "refs/heads/" + branch
	var err error
	for range tries {
		// The empty old value says that there must be none. It is over in no
		// time, and cut short it would leave open whose branch this is: so it
		// is not cancelled.
		_, err = repo.Alter("update-ref", "--no-deref", "--create-reflog", "-m", madeFor(id), ref, commit, "").Run(context.WithoutCancel(ctx))
		if err == nil {
			return true, nil
		}
		found, lookErr := firstRef(ctx, repo, ref)
		if lookErr != nil {
			return false, lookErr
		}
		if found != "" {
			return false, nil
		}
		by, lookErr := inWay(ctx, repo, branch)
		if lookErr != nil {
			return false, lookErr
		}
		if by != "" {
			return false, &BranchInWayError{Branch: branch, By: by}
		}
	}
	return false, err
}

// madeFor is what the reflog of a branch says that was made for a workspace.
func madeFor(id string) string { return "middleman: workspace " + id }

// dropBranch deletes branch if it is still at tip, and says whether it was.
// A branch that is gone already counts as deleted.
func dropBranch(ctx context.Context, repo git.Dirs, branch, tip string) (bool, error) {
	ref := "refs/heads/" + branch
	_, err := repo.Alter("update-ref", "--no-deref", "-d", ref, tip).Run(ctx)
	if err != nil {
		now, lookErr := readRef(ctx, repo, ref)
		if lookErr != nil || now == tip {
			return false, err
		}
		if now != "" {
			return false, nil // somebody moved it: it holds what nobody has looked at
		}
	}
	// The upstream of a branch that is gone would be taken for that of the
	// next one of its name. Most branches have none, which is an error to git.
	_, _ = repo.Alter("config", "--local", "--remove-section", "branch."+branch).Run(ctx)
	return true, nil
}

// readRef is the object that the ref of exactly that name points at, or "".
func readRef(ctx context.Context, repo git.Dirs, ref string) (string, error) {
	out, err := repo.Look("for-each-ref", "--format=%(objectname) %(refname)", ref).Line(ctx)
	for line := range strings.Lines(out) {
		if object, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref {
			return object, err
		}
	}
	return "", err
}

// ownsBranch reports whether the branch of w is ours to delete: it is below
// our prefix. A name that the user chose is the user's.
func (m *Manager) ownsBranch(w Workspace) bool {
	return !m.keepBranches && strings.HasPrefix(w.Branch, m.prefix+"/")
}
