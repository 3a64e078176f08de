package look

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"middleman/internal/git"
	"middleman/workspace/model"
)

// lentWorktrees adds the worktrees of a repository in the workspace that lie outside of it:
// they are of no use without it. owner says which repository that is, whose directory of
// git's is gitDir.
func (l *collector) lentWorktrees(gitDir, owner string) error {
	roots, err := git.EntryRoots(gitDir)
	if err != nil {
		return err
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if below, err := filepath.Rel(l.root, root); err == nil && filepath.IsLocal(below) {
			continue
		}
		leads, err := git.ReadGitFile(filepath.Join(root, ".git"))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !git.SameDir(l.now(leads), roots[root]) {
			continue // it is gone, or another's
		}
		l.add(&l.loss.Untracked, fmt.Sprintf("%s (a worktree of %s, which it needs: `git worktree remove` it first)", root, owner))
	}
	return nil
}

// lentByNested is lentWorktrees for a repository in the workspace's directory, which is
// called name, and for its submodules. at is the top of its checkout, or a bare one.
func (l *collector) lentByNested(at, name string) error {
	gitDir := filepath.Join(at, ".git")
	info, err := os.Lstat(gitDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		gitDir = at
	case err != nil:
		return model.Unknown(err)
	case !info.IsDir():
		return nil // the repository is elsewhere
	}
	if err := l.lentWorktrees(gitDir, "repository "+name); err != nil {
		return model.Unknown(err)
	}
	modules := filepath.Join(gitDir, "modules")
	err = filepath.WalkDir(modules, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == modules && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "worktrees":
			return cmp.Or(l.lentWorktrees(filepath.Dir(path), "repository "+name), fs.SkipDir)
		case entry.IsDir() && entry.Name() == "objects":
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return model.Unknown(fmt.Errorf("look for worktrees of %s: %w", name, err))
	}
	return nil
}

// now returns where a path in the workspace is while a delete has moved its directory.
func (l *collector) now(path string) string {
	below, err := filepath.Rel(l.root, path)
	if l.dir == "" || err != nil || !filepath.IsLocal(below) {
		return path
	}
	return filepath.Join(l.dir, below)
}
