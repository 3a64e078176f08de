package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// maxSmall bounds the small files of git's and ours that are read whole: one
// line, or a few.
const maxSmall = 64 << 10

// repository is what the user stands in.
type repository struct {
	here git.Dirs // the checkout that the user stands in
	main string   // the top of the main checkout; of a bare repository, itself
	ours string   // what comes before the slash in branches of workspaces; "" is not known
}

// discover finds the repository of dir, with git's own rules.
func discover(ctx context.Context, dir string) (repository, error) {
	c := git.Command{Dir: dir, Args: []string{"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"}}
	out, err := c.Line(ctx)
	if failed, ok := errors.AsType[*git.Error](err); ok {
		return discoverBare(ctx, dir, failed)
	}
	if err != nil {
		return repository{}, err
	}
	paths := strings.Split(out, "\n")
	if len(paths) > 3 {
		return repository{}, lineBreak(dir)
	}
	if len(paths) < 3 || slices.Contains(paths, "") {
		return repository{}, c.Odd(out)
	}
	r := repository{here: git.Dirs{GitDir: paths[0], CommonDir: paths[1], WorkTree: paths[2]}, main: paths[2]}
	if r.here.GitDir != r.here.CommonDir {
		trees, err := worktrees(ctx, r.here)
		if err != nil {
			return repository{}, err
		}
		r.main = trees[0].path
	}
	return r, nil
}

// Checkout is the top of the checkout that dir is in, and the common git
// directory of its repository. Where there is none that is an
// ErrNotRepository.
func Checkout(ctx context.Context, dir string) (top, gitDir string, err error) {
	repo, err := discover(ctx, dir)
	return repo.here.WorkTree, repo.here.CommonDir, err
}

// lineBreak refuses a repository whose path git cannot write into the one-line
// files by which it finds a worktree.
func lineBreak(dir string) error {
	return fmt.Errorf("%s: a repository with a line break in its path can have no worktrees; rename the directory: %w", plaintext.Quoted(dir), ErrBadRequest)
}

// explainDiscovery tells "no repository" from all else that can be wrong.
func explainDiscovery(dir string, failed *git.Error) error {
	switch {
	case strings.Contains(failed.Stderr, "not a git repository"):
		return fmt.Errorf("%s: %w", plaintext.Quoted(dir), ErrNotRepository)
	case strings.Contains(failed.Stderr, "dubious ownership"):
		_, named, _ := strings.Cut(failed.Stderr, " at '")
		if named = strings.TrimSuffix(named, "'"); named == "" {
			named = dir
		}
		return fmt.Errorf("%s: %w; if you trust who wrote it: git config --global --add safe.directory '%s'", plaintext.Quoted(dir), ErrForeign, plaintext.Quoted(named))
	}
	return failed
}

// whole is the repository without a checkout: for what belongs to no worktree.
func whole(commonDir string) git.Dirs {
	return git.Dirs{GitDir: commonDir, CommonDir: commonDir}
}

// worktree is a checkout that git knows.
type worktree struct{ path, branch string } // branch is a full ref name, or ""

// worktrees lists every checkout of a repository, the main one first.
func worktrees(ctx context.Context, p git.Dirs) ([]worktree, error) {
	var list []worktree
	c := p.Look("worktree", "list", "--porcelain", "-z")
	c.Again = func() { list = nil }
	c.Each = func(record string) {
		key, value, _ := strings.Cut(record, " ")
		switch {
		case key == "worktree":
			list = append(list, worktree{path: value})
		case key == "branch" && len(list) > 0:
			list[len(list)-1].branch = value
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("list worktrees of %s: git named none", p.CommonDir)
	}
	return list, nil
}

// findEntry is git's own directory for the worktree at root, or "" where the
// repository has none. It reads files alone: what a worktree's .git says
// cannot be trusted, what is in the repository can.
func findEntry(commonDir, root string) (string, error) {
	if _, err := os.Stat(commonDir); err != nil {
		return "", fmt.Errorf("look at repository (if it was moved, `middleman repair` says so to git and to us): %w", err)
	}
	dir := filepath.Join(commonDir, "worktrees")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("list worktrees: %w", err)
	}
	for _, entry := range entries {
		candidate := filepath.Join(dir, entry.Name())
		target, err := readPath(filepath.Join(candidate, "gitdir"), candidate)
		if errors.Is(err, fs.ErrNotExist) {
			continue // being made, or being removed
		}
		if err != nil {
			return "", fmt.Errorf("read worktree entry: %w", err)
		}
		if target == filepath.Join(root, ".git") {
			return candidate, nil
		}
	}
	return "", nil
}

// movedAway says where the worktree of w is by now, if the user took it
// somewhere else with git: then it is theirs. git's entry keeps its name, which
// is our id. tip is where the branch is if that is to go nevertheless.
func movedAway(w Workspace, tip string) []string {
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	target, err := readPath(filepath.Join(entry, "gitdir"), entry)
	if err != nil || filepath.Dir(target) == w.Root {
		return nil
	}
	kept := []string{"the worktree was moved to " + plaintext.Quoted(filepath.Dir(target)) + ": it stays there"}
	if tip == "" {
		kept = append(kept, "branch "+plaintext.Quoted(w.Branch)+" stays")
	}
	return kept
}

// removeEntry makes the repository forget the worktree at root, and only that
// one. It does what "git worktree remove" does to the repository, and touches
// nothing at root, whatever is there by now. No entry is no error.
func removeEntry(commonDir, root string) error {
	entry, err := findEntry(commonDir, root)
	if err != nil {
		return err
	}
	if entry == "" {
		// A git, or a removal, that was killed may have left one that does not
		// say any more, or not yet, what it is for. The id is in no other's name.
		entry = filepath.Join(commonDir, "worktrees", filepath.Base(root))
		if _, err := os.Lstat(filepath.Join(entry, "gitdir")); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(entry); err != nil {
		return fmt.Errorf("remove worktree entry: %w", err)
	}
	// The directory of entries stays, empty: another git may be about to make
	// one in it.
	return nil
}

// readPath reads a one-line file that holds a path, which may be relative to
// dir.
func readPath(file, dir string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmall {
		return "", fmt.Errorf("%s: not a small regular file", file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	path := strings.TrimPrefix(strings.TrimRight(string(content), "\r\n"), "gitdir: ")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), nil
}
