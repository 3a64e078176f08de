package workspace

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

// Identify is the record of the workspace that the directory called id in the
// base is, or was before a delete moved it, as far as it can be read from there
// and from its repository: a worktree is ours where the repository has an
// entry for it that is locked with our reason, a directory without .git where
// it has an id of ours as its name. What cannot be proved is an ErrUnknown,
// and no directory an ErrMissing.
func (m *Manager) Identify(ctx context.Context, id string) (Workspace, error) {
	base, err := basedir.Open(m.base)
	if err != nil {
		return Workspace{}, err
	}
	defer base.Close()
	return m.identify(ctx, base, id)
}

func (m *Manager) identify(ctx context.Context, base *os.Root, id string) (_ Workspace, err error) {
	defer model.Containing(id, &err)
	if err := model.CheckID(id); err != nil {
		return Workspace{}, err
	}
	w := Workspace{ID: id, Name: id, Mode: ModeDirectory, Root: filepath.Join(base.Name(), id), State: StateReady}
	dir, err := basedir.Find(base, w)
	if err != nil {
		return w, err
	}
	if dir == "" {
		return w, fmt.Errorf("%s: %w", w.Root, ErrMissing)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return w, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	w.CreatedAt = info.ModTime().UTC()
	switch info, err := os.Lstat(filepath.Join(dir, ".git")); {
	case err == nil && !info.IsDir():
		w.Mode = ModeWorktree
		return m.identifyWorktree(ctx, w, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return w, fmt.Errorf("%w: %w", ErrUnknown, err)
	case terminal.CheckID(id) != nil:
		return w, fmt.Errorf("%s: not a name that middleman gives: %w", dir, ErrUnknown)
	}
	return w, nil
}

// identifyWorktree believes the repository, and what lies in the worktree only
// for where that is.
func (m *Manager) identifyWorktree(ctx context.Context, w Workspace, dir string) (Workspace, error) {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return w, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	w.GitDir = filepath.Dir(filepath.Dir(entry))
	if _, err := os.Stat(w.GitDir); errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("its repository %s is gone: %w", plaintext.Quoted(w.GitDir), ErrUnknown)
	}
	found, err := git.FindEntry(w.GitDir, w.Root)
	if err != nil || found == "" || !git.SameDir(found, entry) {
		return w, errors.Join(fmt.Errorf("%s is not git's entry for %s: %w", plaintext.Quoted(entry), w.Root, ErrUnknown), err)
	}
	if there, err := basedir.Exists(filepath.Join(found, "index")); !there { // written last
		return w, errors.Join(fmt.Errorf("its creation was not finished; git worktree remove -f -f %s removes it: %w", w.Root, ErrUnknown), err)
	}
	return m.describe(ctx, w, found)
}

// describe fills in what git's entry, and the branch that was made for the
// workspace, say of it.
func (m *Manager) describe(ctx context.Context, w Workspace, entry string) (Workspace, error) {
	unknown := func(err error) (Workspace, error) { return w, fmt.Errorf("%w: %w", ErrUnknown, err) }
	locked := filepath.Join(entry, "locked")
	reason, err := git.LockReason(locked)
	if err != nil {
		return unknown(err)
	}
	if reason != model.LockReason(w.ID) {
		return w, fmt.Errorf("%s does not say that it is workspace %s: %w", plaintext.Quoted(locked), w.ID, ErrUnknown)
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
	if err != nil && git.ExitCode(err) != 1 { // 1: detached
		return unknown(err)
	}
	if err := m.findBranch(ctx, &w, strings.TrimPrefix(head, "refs/heads/")); err != nil {
		return unknown(err)
	}
	w.Name = m.nameOf(w.Branch, w.ID)
	return w, nil
}

// findBranch fills in the branch that was made for w, and where it began. Where
// none says so, that is the one that is checked out, head.
func (m *Manager) findBranch(ctx context.Context, w *Workspace, head string) error {
	repo := git.Whole(w.GitDir)
	candidates := []string{}
	if head != "" {
		candidates = append(candidates, head)
	}
	out, err := repo.Look("for-each-ref", "--format=%(refname)", "refs/heads/"+m.prefix+"/").Line(ctx)
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
			w.Branch, w.BaseCommit = branch, log.Commit
			return nil
		}
	}
	w.Branch = head
	return nil
}

// nameOf is a name for the workspace of a branch: its slug, without our prefix.
func (m *Manager) nameOf(branch, otherwise string) string {
	plain := strings.ReplaceAll(strings.TrimPrefix(branch, m.prefix+"/"), "/", "-")
	if name, err := Slug(plain); err == nil {
		return name
	}
	return otherwise
}
