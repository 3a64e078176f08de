package leftover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// Identify rebuilds the record of the workspace whose directory in the base is
// named id, or was before a delete moved it. It reads the directory and its
// repository. A worktree is ours if the repository has an entry for it that is
// locked with our reason. A directory without .git is ours if its name is one
// of our ids. If it cannot be proved Identify returns an ErrUnknown, and
// without a directory an ErrMissing.
func (f Finder) Identify(ctx context.Context, id string) (model.Workspace, error) {
	base, err := basedir.Open(f.Base)
	if err != nil {
		return model.Workspace{}, err
	}
	defer base.Close()
	return f.identify(ctx, base, id)
}

func (f Finder) identify(ctx context.Context, base *os.Root, id string) (_ model.Workspace, err error) {
	defer model.Containing(id, &err)
	if err := model.CheckID(id); err != nil {
		return model.Workspace{}, err
	}
	w := model.Workspace{ID: id, Name: id, Mode: model.ModeDirectory, Root: filepath.Join(base.Name(), id), State: model.StateReady}
	dir, err := basedir.Find(base, w)
	if err != nil {
		return w, err
	}
	if dir == "" {
		return w, fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return w, fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
	w.CreatedAt = info.ModTime().UTC()
	switch info, err := os.Lstat(filepath.Join(dir, ".git")); {
	case err == nil && !info.IsDir():
		w.Mode = model.ModeWorktree
		return f.identifyWorktree(ctx, w, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return w, fmt.Errorf("%w: %w", model.ErrUnknown, err)
	case terminal.CheckID(id) != nil:
		return w, fmt.Errorf("%s: not a name that middleman gives: %w", dir, model.ErrUnknown)
	}
	return w, nil
}

// identifyWorktree trusts what the repository says. It reads the worktree's own
// .git file only to find the repository.
func (f Finder) identifyWorktree(ctx context.Context, w model.Workspace, dir string) (model.Workspace, error) {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return w, fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
	w.GitDir = filepath.Dir(filepath.Dir(entry))
	if _, err := os.Stat(w.GitDir); errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("its repository %s is gone: %w", plaintext.Quoted(w.GitDir), model.ErrUnknown)
	}
	found, err := git.FindEntry(w.GitDir, w.Root)
	if err != nil || found == "" || !git.SameDir(found, entry) {
		return w, errors.Join(fmt.Errorf("%s is not git's entry for %s: %w", plaintext.Quoted(entry), w.Root, model.ErrUnknown), err)
	}
	if there, err := basedir.Exists(filepath.Join(found, "index")); !there { // git writes it last
		return w, errors.Join(fmt.Errorf("its creation was not finished; git worktree remove -f -f %s removes it: %w", w.Root, model.ErrUnknown), err)
	}
	return f.describe(ctx, w, found)
}

// describe fills in w from git's entry and from the branch that was made for
// the workspace.
func (f Finder) describe(ctx context.Context, w model.Workspace, entry string) (model.Workspace, error) {
	unknown := func(err error) (model.Workspace, error) { return w, fmt.Errorf("%w: %w", model.ErrUnknown, err) }
	locked := filepath.Join(entry, "locked")
	reason, err := git.LockReason(locked)
	if err != nil {
		return unknown(err)
	}
	if reason != model.LockReason(w.ID) {
		return w, fmt.Errorf("%s does not say that it is workspace %s: %w", plaintext.Quoted(locked), w.ID, model.ErrUnknown)
	}
	if info, err := os.Stat(locked); err == nil {
		w.CreatedAt = info.ModTime().UTC()
	}
	at := git.Dirs{GitDir: entry, CommonDir: w.GitDir}
	trees, err := at.Worktrees(ctx)
	if err != nil {
		return unknown(err)
	}
	w.Repository = trees[0].Path
	head, err := at.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: HEAD is detached
		return unknown(err)
	}
	if err := f.findBranch(ctx, &w, strings.TrimPrefix(head, "refs/heads/")); err != nil {
		return unknown(err)
	}
	w.Name = f.nameOf(w.Branch, w.ID)
	return w, nil
}

// findBranch fills in the branch that was made for w, and the commit at which
// it began. If no reflog names w, it takes head, the branch that is checked
// out.
func (f Finder) findBranch(ctx context.Context, w *model.Workspace, head string) error {
	repo := git.Whole(w.GitDir)
	candidates := []string{}
	if head != "" {
		candidates = append(candidates, head)
	}
	out, err := repo.Look("for-each-ref", "--format=%(refname)", "refs/heads/"+f.Prefix+"/").Line(ctx)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		candidates = append(candidates, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "refs/heads/"))
	}
	for _, branch := range candidates {
		log, err := repo.BranchLog(ctx, branch)
		if err != nil {
			return err
		}
		if model.MadeID(log.Note) == w.ID {
			w.Branch, w.OwnBranch, w.BaseCommit = branch, true, log.Commit
			return nil
		}
	}
	w.Branch = head
	return nil
}

// nameOf returns the slug of a branch without our prefix, or otherwise.
func (f Finder) nameOf(branch, otherwise string) string {
	plain := strings.ReplaceAll(strings.TrimPrefix(branch, f.Prefix+"/"), "/", "-")
	if name, err := model.Slug(plain); err == nil {
		return name
	}
	return otherwise
}
