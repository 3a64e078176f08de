package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// maxWalked limits how many ignored entries are visited. Beyond it the
// inspection fails.
const maxWalked = 5_000_000

// nestedWorktrees adds those of trees, the worktrees of the repository, that lie
// in the workspace, whose directory is now at dir. Their .git files may be gone;
// their files count.
func (l *collector) nestedWorktrees(p git.Dirs, trees []git.Worktree, root, dir string) error {
	l.nested = map[string]bool{}
	for _, tree := range trees {
		below, err := filepath.Rel(root, filepath.FromSlash(tree.Path))
		if err != nil || below == "." || !filepath.IsLocal(below) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, below)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		entry, err := git.FindEntry(p.CommonDir, "", filepath.FromSlash(tree.Path))
		if err != nil {
			return err
		}
		if entry != "" {
			l.nestedEntries = append(l.nestedEntries, entry)
		}
		name := filepath.ToSlash(below) + "/"
		l.nested[name] = true
		l.repositories = append(l.repositories, strings.TrimSuffix(name, "/"))
		label := " (a worktree)"
		if branch, ok := strings.CutPrefix(tree.Branch, "refs/heads/"); ok {
			label = " (the worktree of branch " + branch + ")"
		}
		l.add(&l.loss.Untracked, name+label)
	}
	return nil
}

// repository adds a repository that lies in the workspace, at the directory at. name is
// its path with a slash at the end. Nested worktrees are on the list already.
func (l *collector) repository(at, name string) error {
	l.repositories = append(l.repositories, strings.TrimSuffix(name, "/"))
	if l.nested[name] {
		return nil
	}
	l.add(&l.loss.Untracked, name+" (a repository)")
	return l.lentByNested(at, strings.TrimSuffix(name, "/"))
}

// ignored adds a path that git ignores in the checkout at p, and the
// repositories in it. A directory's path ends with a slash. Those repositories
// are listed as untracked, because they may hold work that exists nowhere else.
func (l *collector) ignored(ctx context.Context, p git.Dirs, path, name string) error {
	if basedir.IsEmptyWorkDir(p.WorkTree, path) {
		return nil // ours, and no worker uses it
	}
	l.add(&l.loss.Ignored, name+path)
	l.ignoredPaths = append(l.ignoredPaths, name+path)
	if !strings.HasSuffix(path, "/") {
		return nil
	}
	// WalkDir follows no links.
	top := plainfile.Exact(p.WorkTree)
	err := filepath.WalkDir(filepath.Join(top, filepath.FromSlash(path)), func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if l.walked++; l.walked > maxWalked {
			return fmt.Errorf("more than %d ignored files", maxWalked)
		}
		if !entry.IsDir() || !isRepository(at) {
			return ctx.Err()
		}
		below, err := filepath.Rel(top, at)
		if err != nil {
			return err
		}
		return cmp.Or(l.repository(at, name+filepath.ToSlash(below)+"/"), fs.SkipDir)
	})
	if err != nil {
		return fmt.Errorf("look for repositories in %s: %w: %w", plaintext.Quoted(name+path), model.ErrUnknown, err)
	}
	return nil
}

// isRepository reports whether dir is the top of a checkout or a bare
// repository.
func isRepository(dir string) bool {
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	return exists(".git") || exists("HEAD") && exists("objects") && exists("refs")
}
