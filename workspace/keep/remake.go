package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

const maxHead = 4 << 10 // bytes of a worktree's HEAD

// remake makes a workspace again whose delete kept no snapshot: all that it held
// is elsewhere. A worktree comes without its files: workspace.Checkout writes
// them, also if a server was killed in between.
func (r *restoration) remake(ctx context.Context) (err error) {
	switch {
	case r.w.RestoreFrom != model.FromTip, r.w.Mode == model.ModeWorktree && r.w.Tip == "":
		return ErrNoSnapshot
	case r.w.Mode == model.ModeInPlace:
		return r.findInPlace()
	}
	if err = r.openRestored(); err != nil {
		return err
	}
	defer r.held.Close()
	made, err := r.remade()
	if err != nil || made {
		return err
	}
	if r.w.Mode == model.ModeDirectory {
		return basedir.MakeDir(r.base, basedir.Name(r.w))
	}
	commit, err := r.repo.Commit(ctx, r.w.Tip)
	if err != nil {
		return err
	}
	if commit == "" {
		return fmt.Errorf("commit %s, where its branch was, is not in %s any more: %w", plaintext.Quoted(r.w.Tip), plaintext.Quoted(r.w.GitDir), ErrNoSnapshot)
	}
	if err := r.claimed(ctx, func() error { return r.addWorktree(ctx, commit) }); err != nil {
		return model.Unwind(ctx, r.undo, err)
	}
	r.notes = append(r.notes, fmt.Sprintf("there was no snapshot, because all of its work is elsewhere: it is made again from commit %s", commit[:min(len(commit), 12)]))
	return nil
}

// findInPlace checks that the user's directory, which no delete removes, is
// still there.
func (r *restoration) findInPlace() error {
	info, err := os.Stat(r.w.Root)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory any more")
	}
	if err != nil {
		return fmt.Errorf("look at its directory %s: %w: %w", plaintext.Quoted(r.w.Root), err, model.ErrMissing)
	}
	return nil
}

// addWorktree makes branch, directory and git's entry, without files.
func (r *restoration) addWorktree(ctx context.Context, commit string) error {
	r.snap = snapshot{Branch: branch{Name: r.w.Branch, Commit: commit}}
	if err := r.snap.check(); err != nil {
		return err
	}
	if err := r.report.Stage("branch", func() error { return r.branches(ctx) }); err != nil {
		return err
	}
	return r.report.Stage("add", func() error {
		if err := basedir.Link(r.base, r.w.ID, basedir.Name(r.w)); err != nil {
			return err
		}
		if err := basedir.MakeDir(r.base, basedir.Name(r.w)); err != nil {
			return errors.Join(err, basedir.Unlink(r.base, r.w.ID))
		}
		r.undoPlace()
		fault.Here("restore/directory")
		_, err := r.repo.Alter("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", git.WorkspaceReason(r.w.ID),
			"--", r.addPath(), r.w.Branch).Run(ctx)
		fault.Here("restore/added")
		if err != nil {
			return err
		}
		return basedir.Unlink(r.base, r.w.ID)
	})
}

// remade reports whether a restore that was killed has made the workspace. It
// removes what such a restore only began: a directory without files. It returns
// an error if something else has the workspace's place.
func (r *restoration) remade() (bool, error) {
	dir, err := basedir.Find(r.base, r.w)
	if errors.Is(err, model.ErrReplaced) {
		err = fmt.Errorf("%s: %w", r.w.Root, ErrOccupied)
	}
	if err != nil || dir == "" {
		return false, err
	}
	taken := fmt.Errorf("%s: %w", dir, ErrOccupied)
	if dir != r.w.Root {
		return false, taken
	}
	if r.w.Mode == model.ModeDirectory {
		if err := r.base.Remove(basedir.Name(r.w)); err != nil { // it is not empty
			return false, errors.Join(taken, err)
		}
		return false, nil
	}
	entry, err := git.FindEntry(r.w.GitDir, r.w.ID, r.w.Root)
	if err != nil {
		return false, errors.Join(taken, err)
	}
	if entry != "" {
		reason, err := git.LockReason(filepath.Join(entry, "locked"))
		if err != nil {
			return false, errors.Join(taken, err)
		}
		if reason == git.WorkspaceReason(r.w.ID) {
			return true, errors.Join(r.takeBranch(entry), basedir.Unlink(r.base, r.w.ID))
		}
	}
	return false, r.dropBegun(entry, taken)
}

// dropBegun removes a directory that holds nothing but git's link, and the entry
// of a git that was killed. If there is more it returns taken.
func (r *restoration) dropBegun(entry string, taken error) error {
	files, err := os.ReadDir(r.w.Root)
	if err != nil || len(files) > 1 || len(files) == 1 && files[0].Name() != ".git" {
		return errors.Join(taken, err)
	}
	if entry != "" {
		if _, err := os.Lstat(filepath.Join(entry, "index")); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(taken, err)
		}
	}
	if err := git.RemoveEntry(r.w.GitDir, r.w.ID, r.w.Root); err != nil {
		return err
	}
	return basedir.RemoveAll(r.base, basedir.Name(r.w))
}

// takeBranch sets the workspace's branch to the one that its worktree was made
// with, which may have got a number.
func (r *restoration) takeBranch(entry string) error {
	head, err := plainfile.ReadFollowed(filepath.Join(entry, "HEAD"), maxHead)
	if err != nil {
		return err
	}
	if name, is := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/"); is && model.IsBranchName(name) {
		r.w.Branch = name
	}
	return nil
}
