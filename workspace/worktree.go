package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// createWorktree fills in w. It checks the base directory before it runs git.
// It makes branch, directory and git's entry in that order, each exclusively,
// so that after an error it undoes only what it made.
func (m *Manager) createWorktree(ctx context.Context, r CreateRequest, w *Workspace, report Progress) (err error) {
	base, err := m.openFor(ctx, r, w)
	if err != nil {
		return err
	}
	defer base.Close()
	repo, err := m.resolve(ctx, r, w, report)
	if repo.Here.CommonDir != "" && model.IsChange(r.Base) {
		defer func() { err = errors.Join(err, dropFetched(ctx, git.Whole(repo.Here.CommonDir), r.ID)) }()
	}
	if err != nil {
		return err
	}
	return report.Detailed("add", func() (string, error) {
		if isScope(base) {
			if err := basedir.Exclude(w.GitDir); err != nil {
				return "", err
			}
		}
		w.Subdir = repo.Subdir(r.Directory)
		return m.add(ctx, base, repo, r, w)
	})
}

// resolve finds the repository and the base. It fetches a base that is a pull
// or merge request.
func (m *Manager) resolve(ctx context.Context, r CreateRequest, w *Workspace, report Progress) (repo repository, err error) {
	repo.ours = m.prefix
	ref, err := model.ChangeRef(r.Base)
	if err != nil {
		return repo, err
	}
	if ref != "" {
		err := report.Advancing("fetch", func(tell func(string)) (string, error) {
			if repo.Repository, err = locate(ctx, r); err != nil {
				return "", err
			}
			return repo.fetch(ctx, r, ref, tell)
		})
		if err != nil {
			return repo, err
		}
		fault.Here("create/fetched")
	}
	err = report.Stage("resolve", func() error {
		if ref != "" {
			w.Base = r.Base
			w.BaseCommit, err = repo.Here.Commit(ctx, fetchedRef(r.ID))
			if err == nil && w.BaseCommit == "" {
				err = fmt.Errorf("base %s: %s is not a commit: %w", r.Base, ref, ErrBadBase)
			}
		} else if repo.Repository, err = locate(ctx, r); err == nil {
			w.Base, w.BaseCommit, err = repo.start(ctx, r.Base)
		}
		return err
	})
	w.Repository, w.GitDir = repo.Main, repo.Here.CommonDir
	return repo, err
}

// add makes branch, directory and a worktree without files, or nothing. It
// returns what the user should know of the branch.
func (m *Manager) add(ctx context.Context, base *os.Root, from repository, r CreateRequest, w *Workspace) (found string, err error) {
	if r.Branch != "" {
		held, err := git.HoldBranches(ctx, w.GitDir)
		if err != nil {
			return "", err
		}
		defer held.Close() // closing nil only returns an error
	}
	repo := git.Whole(w.GitDir)
	var undo []func(context.Context) error
	var place *basedir.Claimed
	defer func() {
		if err != nil {
			err = model.Unwind(ctx, undo, err)
		}
		if place != nil {
			_ = place.Close()
		}
	}()
	tip, found, err := m.claimBranch(ctx, from, r, w)
	if err != nil {
		return "", err
	}
	fault.Here("create/branch")
	if w.OwnBranch {
		undo = append(undo, func(ctx context.Context) error { return undoBranches(ctx, repo, map[string]string{w.Branch: tip}) })
	}
	if place, err = claimPlace(ctx, base, r, w); err != nil {
		return "", err
	}
	w.Root = filepath.Join(place.Root.Name(), place.Name)
	undo = append(undo,
		func(context.Context) error { return basedir.Unlink(place.Root, r.ID) },
		func(context.Context) error { return git.RemoveEntry(w.GitDir, r.ID, w.Root) },
		func(context.Context) error { return basedir.RemoveAll(place.Root, place.Name) },
	)
	fault.Here("create/directory")
	made, err := place.Lstat(place.Name)
	if err != nil {
		return "", err
	}
	_, err = repo.Alter("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", git.WorkspaceReason(r.ID),
		"--", basedir.AddPath(place.Root, r.ID, place.Name), w.Branch).Run(ctx)
	if err != nil {
		// Another process may have checked the branch out meanwhile.
		if inUse, ok := errors.AsType[*BranchInUseError](repo.BranchFree(ctx, w.Branch)); ok && inUse.Path != w.Root {
			err = inUse
		}
		return "", err
	}
	fault.Here("create/added")
	if err := checkPlace(w.Root, made); err != nil {
		return "", err
	}
	return found, basedir.Unlink(place.Root, r.ID)
}

// claimPlace makes the directory of w: in a scope at its id, else in the group of
// its repository. The caller closes the result.
func claimPlace(ctx context.Context, base *os.Root, r CreateRequest, w *Workspace) (*basedir.Claimed, error) {
	if isScope(base) {
		return basedir.MakeAtID(base, r.ID)
	}
	claim := basedir.Claim{ID: r.ID, Name: r.Name, Repository: w.Repository, GitDir: w.GitDir, Taken: r.Taken, Recorded: r.Recorded}
	return claim.Make(ctx, base)
}

// isScope reports whether base is the directory for workspaces in a scope.
func isScope(base *os.Root) bool {
	_, scoped := basedir.ScopeOf(filepath.Join(base.Name(), "x"))
	return scoped
}

// checkPlace checks that git filled the directory that we made: the base was
// not replaced while git ran.
func checkPlace(root string, made fs.FileInfo) error {
	now, err := os.Lstat(root)
	if err != nil {
		return fmt.Errorf("look at new worktree: %w", err)
	}
	if !os.SameFile(made, now) {
		return fmt.Errorf("%s was replaced while git filled it: %w", root, ErrEscapes)
	}
	return nil
}

// foundSubdir returns the deepest part of subdir that exists in the worktree at
// root. A part behind a link out of the worktree does not count.
func foundSubdir(root, subdir string) string {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return ""
	}
	defer tree.Close()
	for subdir != "." && subdir != "" {
		if info, err := tree.Stat(subdir); err == nil && info.IsDir() {
			return subdir
		}
		subdir = filepath.Dir(subdir)
	}
	return ""
}
