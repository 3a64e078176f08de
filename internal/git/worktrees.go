package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
)

// Worktree is a checkout that git knows.
type Worktree struct {
	Path   string
	Branch string // a full ref name, or ""
	Locked string // why it is locked, as git shows it; "" also where no reason is given
	Gone   string // why git would forget it, or ""
}

// Worktrees lists every checkout of a repository, the main one first.
func (p Dirs) Worktrees(ctx context.Context) ([]Worktree, error) {
	var list []Worktree
	c := p.Look("worktree", "list", "--porcelain", "-z")
	c.Again = func() { list = nil }
	c.Each = func(record string) {
		key, value, _ := strings.Cut(record, " ")
		if key == "worktree" {
			list = append(list, Worktree{Path: value})
			return
		}
		if len(list) == 0 {
			return
		}
		last := &list[len(list)-1]
		switch key {
		case "branch":
			last.Branch = value
		case "locked":
			last.Locked = value
		case "prunable":
			last.Gone = "its directory is gone: " + value
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

// FindEntry is git's own directory for the worktree at root, or "" where the
// repository has none. It reads files alone: what a worktree's .git says
// cannot be trusted, what is in the repository can.
func FindEntry(commonDir, root string) (string, error) {
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
		target, err := ReadPath(filepath.Join(candidate, "gitdir"), candidate)
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

// RemoveEntry makes the repository forget the worktree at root, and only that
// one. It does what "git worktree remove" does to the Repository, and touches
// nothing at root, whatever is there by now. No entry is no error.
func RemoveEntry(commonDir, root string) error {
	entry, err := FindEntry(commonDir, root)
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

// LockReason is why an entry is locked, "" where it is not.
func LockReason(locked string) (string, error) {
	content, err := plainfile.ReadFollowed(locked, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(content)), err
}

// ReadPath reads a one-line file that holds a path, which may be relative to
// dir.
func ReadPath(file, dir string) (string, error) {
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
