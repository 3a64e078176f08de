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

// Identify rebuilds the record of the workspace with that id whose directory is in
// the base, or was before a delete moved it. It reads the directory and its
// repository. A worktree is ours if the repository has an entry for it that is
// locked with our reason. A directory without .git is ours if its name is one
// of our ids. If it cannot be proved Identify returns an ErrUnknown, and
// without a directory an ErrMissing.
func (f Finder) Identify(ctx context.Context, id string) (model.Workspace, error) {
	if err := model.CheckID(id); err != nil {
		return model.Workspace{}, err
	}
	holders, err := f.open()
	if err != nil {
		return model.Workspace{}, err
	}
	defer closeAll(holders)
	for _, h := range holders {
		for _, name := range h.names {
			if kind, of := h.kindOf(name); of == id && (kind == KindDirectory || kind == KindDeleting) {
				return f.identify(ctx, h, name)
			}
		}
	}
	return model.Workspace{}, fmt.Errorf("workspace %s in %s: %w", id, f.Base, model.ErrMissing)
}

// identify is Identify for what has that name in a listed directory.
func (f Finder) identify(ctx context.Context, in *listed, name string) (_ model.Workspace, err error) {
	kind, id := in.kindOf(name)
	defer model.Containing(id, &err)
	if err := model.CheckID(id); err != nil {
		return model.Workspace{}, err
	}
	dir := filepath.Join(in.root.Name(), name)
	w := model.Workspace{ID: id, Name: id, Mode: model.ModeDirectory, Root: filepath.Join(in.root.Name(), id), BaseDir: in.given, State: model.StateReady}
	if in.group && kind == KindDirectory {
		w.Root = dir
	} else if in.group {
		w.Root = formerRoot(in, dir, w.Root)
	}
	switch found, err := basedir.Find(in.root, w); {
	case err != nil:
		return w, err
	case found == "":
		return w, fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
	default:
		dir = found
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return w, model.Unknown(err)
	}
	w.CreatedAt = info.ModTime().UTC()
	switch info, err := os.Lstat(filepath.Join(dir, ".git")); {
	case err == nil && !info.IsDir():
		w.Mode = model.ModeWorktree
		return f.identifyWorktree(ctx, w, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return w, model.Unknown(err)
	case terminal.CheckID(id) != nil || filepath.Base(w.Root) != id:
		return w, fmt.Errorf("%s: not a name that middleman gives: %w", dir, model.ErrUnknown)
	}
	return w, nil
}

// formerRoot returns the place in a group from which a delete has moved the
// worktree at dir, which git's entry says, or else otherwise.
func formerRoot(in *listed, dir, otherwise string) string {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return otherwise
	}
	root, err := git.EntryRoot(entry)
	if err != nil || filepath.Dir(root) != in.root.Name() || !model.IsPlaceName(filepath.Base(root)) {
		return otherwise
	}
	return root
}

// identifyWorktree trusts what the repository says. It reads the worktree's own
// .git file only to find the repository.
func (f Finder) identifyWorktree(ctx context.Context, w model.Workspace, dir string) (model.Workspace, error) {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return w, model.Unknown(err)
	}
	w.GitDir = filepath.Dir(filepath.Dir(entry))
	if _, err := os.Stat(w.GitDir); errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("its repository %s is gone: %w", plaintext.Quoted(w.GitDir), model.ErrUnknown)
	}
	found, err := git.FindEntry(w.GitDir, w.ID, w.Root)
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
	unknown := func(err error) (model.Workspace, error) { return w, model.Unknown(err) }
	locked := filepath.Join(entry, "locked")
	reason, err := git.LockReason(locked)
	if err != nil {
		return unknown(err)
	}
	if reason != git.WorkspaceReason(w.ID) {
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
