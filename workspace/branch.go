package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// claimBranch finds or makes the branch of a new workspace, and fills in w:
// Branch, OwnBranch, and for a branch that exists already Base and BaseCommit.
// It returns the branch's commit and, for the user, what was found. If several
// processes claim one name git lets one of them succeed, and the others try the
// next name. A branch that the user named has no substitute.
func (m *Manager) claimBranch(ctx context.Context, repo repository, r CreateRequest, w *Workspace) (tip, found string, err error) {
	if r.Branch != "" {
		return claimNamed(ctx, repo, r, w)
	}
	at := git.Whole(repo.Here.CommonDir)
	w.OwnBranch = true
	if r.Parent != nil {
		w.Branch, err = m.claimWorkerBranch(ctx, at, r, w.BaseCommit)
	} else {
		w.Branch, err = claimNumbered(ctx, at, m.prefix+"/"+r.Name, r.ID, w.BaseCommit)
	}
	return w.BaseCommit, "", err
}

// claimNumbered makes a branch called first for the workspace with that id, with
// a number if the name is taken.
func claimNumbered(ctx context.Context, at git.Dirs, first, id, commit string) (string, error) {
	if err := model.CheckBranch(first); err != nil { // the prefix is any text
		return "", err
	}
	for n := 1; n <= model.MaxSuffix; n++ {
		branch := first
		if n > 1 {
			branch = fmt.Sprintf("%s-%d", first, n)
		}
		if made, err := at.MakeBranch(ctx, branch, commit, model.MadeFor(id)); err != nil || made {
			return branch, err
		}
	}
	return "", fmt.Errorf("branch %s and %d more with a number: %w", first, model.MaxSuffix-1, ErrBranchTaken)
}

// claimNamed is claimBranch for a branch that the user named. It takes an
// existing one, else one of a remote, else it makes the branch.
func claimNamed(ctx context.Context, repo repository, r CreateRequest, w *Workspace) (tip, found string, err error) {
	at := git.Whole(repo.Here.CommonDir)
	if err := model.CheckBranch(r.Branch); err != nil {
		return "", "", err
	}
	w.Branch = r.Branch
	const tries = 2 // another process may make the branch meanwhile
	for range tries {
		if tip, err = at.Ref(ctx, "refs/heads/"+r.Branch); err != nil {
			return "", "", err
		}
		if tip != "" {
			err := refuseBase(r, "exists already")
			if err == nil {
				err = at.BranchFree(ctx, r.Branch)
			}
			if err == nil {
				err = useBase(ctx, repo, w, tip)
			}
			return tip, "branch " + plaintext.Quoted(r.Branch) + " was there already", err
		}
		made, found, err := makeNamed(ctx, repo, r, w)
		if err != nil || made != "" {
			return made, found, err
		}
	}
	return "", "", at.BranchTaken(ctx, r.Branch)
}

// makeNamed makes the branch of w, at a remote's branch of that name if there
// is one. It returns "" if the branch exists by now.
func makeNamed(ctx context.Context, repo repository, r CreateRequest, w *Workspace) (tip, found string, err error) {
	at := git.Whole(repo.Here.CommonDir)
	remote, err := remoteBranch(ctx, at, r.Branch)
	if err != nil {
		return "", "", err
	}
	tip = w.BaseCommit
	if remote.Ref != "" {
		if err := refuseBase(r, "is on remote "+plaintext.Quoted(remote.Remote)+" already"); err != nil {
			return "", "", err
		}
		tip = remote.Commit
	}
	made, err := at.MakeBranch(ctx, w.Branch, tip, model.MadeFor(r.ID))
	if err != nil || !made {
		return "", "", err
	}
	w.OwnBranch = true
	if remote.Ref == "" {
		return tip, "", nil
	}
	if err = at.Track(ctx, w.Branch, remote); err == nil {
		err = useBase(ctx, repo, w, tip)
	}
	if err != nil {
		_, dropErr := at.DropBranch(context.WithoutCancel(ctx), w.Branch, tip)
		return "", "", errors.Join(err, dropErr)
	}
	return tip, fmt.Sprintf("branch %s tracks %s", plaintext.Quoted(w.Branch), plaintext.Quoted(strings.TrimPrefix(remote.Ref, "refs/remotes/"))), nil
}

// refuseBase refuses a base for a branch that has commits already.
func refuseBase(r CreateRequest, why string) error {
	if r.Base == "" {
		return nil
	}
	return fmt.Errorf("branch %s %s, so it does not begin at %s; without --base it is used as it is: %w",
		plaintext.Quoted(r.Branch), why, plaintext.Quoted(r.Base), ErrBranchTaken)
}

// remoteBranch returns the remote's branch that the name means, or none. If
// several remotes have it git's setting checkout.defaultRemote decides.
func remoteBranch(ctx context.Context, at git.Dirs, branch string) (git.RemoteBranch, error) {
	found, err := at.RemoteBranches(ctx, branch)
	if err != nil || len(found) == 0 {
		return git.RemoteBranch{}, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	usual, err := at.Look("config", "--get", "checkout.defaultRemote").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: it is not set
		return git.RemoteBranch{}, err
	}
	var remotes []string
	for _, b := range found {
		if b.Remote == usual {
			return b, nil
		}
		remotes = append(remotes, b.Remote)
	}
	return git.RemoteBranch{}, fmt.Errorf("branch %s is on remotes %s: make a local one with `git branch --track`, or set checkout.defaultRemote: %w",
		plaintext.Quoted(branch), plaintext.Quoted(strings.Join(remotes, ", ")), ErrBranchTaken)
}

// useBase gives w, whose branch is at tip already, a base to compare with: the
// default branch, at the commit where the branch left it. A branch that is the
// default one itself has no base.
func useBase(ctx context.Context, repo repository, w *Workspace, tip string) error {
	name, commit, err := repo.startAtDefault(ctx)
	if err != nil {
		return err
	}
	w.Base, w.BaseCommit = "", tip
	if name == "" || name == w.Branch {
		return nil
	}
	common, err := repo.Here.Look("merge-base", tip, commit).Line(ctx)
	if git.ExitCode(err) == 1 { // they have no commit in common
		return nil
	}
	if err != nil {
		return err
	}
	w.Base, w.BaseCommit = name, common
	return nil
}

// ownsBranch reports whether we may delete the branch of w: it was made for w, and a
// restore can make it again. Any other branch belongs to the user, whatever its name.
func (m *Manager) ownsBranch(w Workspace) bool {
	return !m.keepBranches && w.OwnBranch && model.CheckBranch(w.Branch) == nil
}
