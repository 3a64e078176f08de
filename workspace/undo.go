package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Undo removes what a killed creation left: the directory, git's entry for it,
// locked or not, and the branch, if it was made for w and has not moved. w is
// what was recorded before the creation: id, name, mode, the requested branch,
// and as Repository any directory in the repository. A completed worktree may
// hold work: without discard it stays then, and the error is a *WorkError. If
// the repository is gone the error is an ErrUnknown; with discard the directory
// is removed then. Nothing left is no error.
func (m *Manager) Undo(ctx context.Context, w Workspace, discard bool) error {
	if w.Mode == ModeInPlace {
		return nil
	}
	if err := contain.Call(func() error { return m.undo(ctx, w, discard) }); err != nil {
		return fmt.Errorf("undo the creation of workspace %s: %w", w.Name, err)
	}
	return nil
}

func (m *Manager) undo(ctx context.Context, w Workspace, discard bool) error {
	if err := model.CheckID(w.ID); err != nil {
		return err
	}
	held, err := m.openIntended(ctx, &w)
	if err != nil {
		return err
	}
	defer held.Close()
	base := held.Root
	if w.Mode == ModeDirectory {
		_, err := m.deleteVanished(ctx, w, discard)
		return err
	}
	w.GitDir, err = repositoryOf(ctx, w)
	switch {
	case err != nil && discard && ctx.Err() == nil:
		if claimed := basedir.ClaimedBy(w.Root); claimed == "" || claimed == w.ID {
			err = basedir.RemoveAll(base, basedir.Name(w))
		} else {
			err = fmt.Errorf("%s is that of workspace %s: %w", plaintext.Quoted(w.Root), claimed, ErrUnknown)
		}
		return errors.Join(err, basedir.Unlink(base, w.ID))
	case err != nil:
		return model.Unknown(err)
	}
	if w.GitDir == "" { // git was not called yet, or its repository is gone
		if err := base.Remove(basedir.Name(w)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return basedir.Unlink(base, w.ID)
	}
	branches, err := m.branchesMadeFor(ctx, w)
	if err != nil {
		return err
	}
	if err := m.undoWorktree(ctx, base, w, branches, discard); err != nil {
		return err
	}
	if err := undoBranches(ctx, git.Whole(w.GitDir), branches); err != nil {
		return err
	}
	return dropFetched(ctx, git.Whole(w.GitDir), w.ID)
}

// repositoryOf returns the common git directory of the repository in which w
// was to be made. It returns "" if neither w nor its directory says which.
func repositoryOf(ctx context.Context, w Workspace) (string, error) {
	if w.Repository != "" {
		repo, err := git.Discover(ctx, w.Repository)
		return repo.Here.CommonDir, err
	}
	entry, err := git.ReadPath(filepath.Join(w.Root, ".git"), w.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	commonDir := filepath.Dir(filepath.Dir(entry))
	if found, err := git.FindEntry(commonDir, w.ID, w.Root); err != nil || !git.SameDir(found, entry) {
		return "", errors.Join(fmt.Errorf("%s is not git's entry for %s: %w", plaintext.Quoted(entry), w.Root, ErrUnknown), err)
	}
	return commonDir, nil
}

// undoWorktree removes directory and entry. Files of an interrupted checkout
// are no work; files that a program or the user wrote there are.
func (m *Manager) undoWorktree(ctx context.Context, base *os.Root, w Workspace, branches map[string]string, discard bool) error {
	entry, err := git.FindEntry(w.GitDir, w.ID, w.Root)
	if err != nil {
		return err
	}
	if entry != "" {
		held, err := git.HoldEntry(ctx, entry)
		if err != nil {
			return err
		}
		defer held.Close()
		untouched, err := m.untouched(ctx, w, entry)
		if err != nil && !discard {
			return model.Unknown(err)
		}
		if !untouched {
			for made := range branches { // at most one
				w.Branch, w.OwnBranch = made, true
			}
			_, err := m.deleteVanished(ctx, w, discard)
			return err
		}
	}
	if err := moveBegun(base, w, entry); err != nil {
		return err
	}
	if err := git.RemoveEntry(w.GitDir, w.ID, w.Root); err != nil {
		return err
	}
	const most = 10 // tries; a process that still writes there ends soon
	for range most {
		if err = basedir.RemoveAll(base, basedir.TrashName(w.ID)); err == nil {
			return basedir.Unlink(base, w.ID)
		}
	}
	return err
}

// moveBegun moves away the directory of a worktree that was only begun. A git that
// outlived the server may still be writing. It fails once its entry and its
// directory are gone. A directory that nothing proves to be that of w goes only if
// it is empty: git writes entry and .git before any file.
func moveBegun(base *os.Root, w Workspace, entry string) error {
	name := basedir.Name(w)
	if entry == "" && name != w.ID && basedir.ClaimedBy(w.Root) != w.ID {
		err := basedir.RemoveEmpty(base, name)
		if errors.Is(err, fs.ErrExist) { // it stands for ENOTEMPTY here
			return fmt.Errorf("%s: it is not known whose directory that is: %w", plaintext.Quoted(w.Root), ErrUnknown)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := base.Rename(name, basedir.TrashName(w.ID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move directory away: %w", err)
	}
	return nil
}

// untouched reports whether only git wrote into a worktree, and did not finish:
// there is no index.
func (m *Manager) untouched(ctx context.Context, w Workspace, entry string) (bool, error) {
	if _, err := os.Lstat(filepath.Join(entry, "index")); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	entries, err := os.ReadDir(w.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || len(entries) == 0 || len(entries) == 1 && entries[0].Name() == ".git" {
		return err == nil, err
	}
	loss, err := look.Unfinished(ctx, git.Dirs{GitDir: entry, CommonDir: w.GitDir, WorkTree: w.Root})
	return err == nil && loss.Empty(), err
}

// branchesMadeFor returns the branches that were made for w and have not moved,
// with their commits. The reflog proves both: it has one entry, which is ours.
func (m *Manager) branchesMadeFor(ctx context.Context, w Workspace) (map[string]string, error) {
	repo := git.Whole(w.GitDir)
	first := "refs/heads/" + m.prefix + "/" + w.Name
	patterns := []string{first, first + "-*"}
	if w.Branch != "" {
		patterns = []string{"refs/heads/" + w.Branch}
	} else if w.Parent != "" {
		patterns = nil
		for _, branch := range append(m.workerBranches(w.Name), m.workerBranches(w.ID)...) { // by id: those of earlier versions
			patterns = append(patterns, "refs/heads/"+branch, "refs/heads/"+branch+"-*")
		}
	}
	out, err := repo.Look(append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, patterns...)...).Line(ctx)
	if err != nil {
		return nil, err
	}
	branches := map[string]string{}
	for line := range strings.Lines(out) {
		object, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		branch := strings.TrimPrefix(ref, "refs/heads/")
		log, err := repo.BranchLog(ctx, branch)
		if err != nil {
			return nil, err
		}
		if log.Only && log.Note == model.MadeFor(w.ID) && log.Commit == object {
			branches[branch] = object
		}
	}
	return branches, nil
}

// undoBranches deletes those branches that are checked out nowhere.
func undoBranches(ctx context.Context, repo git.Dirs, branches map[string]string) error {
	if len(branches) == 0 {
		return nil
	}
	trees, err := repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		delete(branches, strings.TrimPrefix(tree.Branch, "refs/heads/"))
	}
	for branch, commit := range branches {
		if _, err := repo.DropBranch(ctx, branch, commit); err != nil {
			return err
		}
	}
	return nil
}
