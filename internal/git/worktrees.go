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

// Worktree is a checkout that git lists.
type Worktree struct {
	Path   string
	Branch string // a full ref name, or ""
	Locked string // why it is locked, as git shows it; also "" if it is locked without a reason
	Gone   string // why git would prune it, or ""
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

// FindEntry returns git's directory for the worktree at root, or "" if the
// repository has none. It searches the repository, because a program in the
// worktree may have changed the .git file there.
func FindEntry(commonDir, root string) (string, error) {
	if _, err := os.Stat(commonDir); err != nil {
		return "", fmt.Errorf("look at the repository (if it was moved, run `middleman repair`): %w", err)
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
			continue // another process is making or removing it
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

// RemoveEntry removes the repository's entry for the worktree at root, and no
// other. It does what "git worktree remove" does to the repository, and touches
// nothing at root. No entry is no error.
func RemoveEntry(commonDir, root string) error {
	entry, err := FindEntry(commonDir, root)
	if err != nil {
		return err
	}
	if entry == "" {
		// A killed git, or a killed removal, may leave an entry without its
		// gitdir file, so FindEntry cannot match it. Its name is the base name
		// of root, a workspace's id, which no other entry has.
		entry = filepath.Join(commonDir, "worktrees", filepath.Base(root))
		if _, err := os.Lstat(filepath.Join(entry, "gitdir")); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.RemoveAll(entry); err != nil {
		return fmt.Errorf("remove worktree entry: %w", err)
	}
	// The directory of entries stays, even empty: another git may be about to
	// make an entry in it.
	return nil
}

// LockReason returns why an entry is locked, from its file locked, or "" if it
// is not.
func LockReason(locked string) (string, error) {
	content, err := plainfile.ReadFollowed(locked, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(content)), err
}

// ReadPath reads a small file with one line that holds a path, after "gitdir: "
// or alone. A relative path is joined to dir.
func ReadPath(file, dir string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer root.Close()
	content, err := plainfile.Read(root, filepath.Base(file), maxSmall)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	path := strings.TrimPrefix(strings.TrimRight(string(content), "\r\n"), "gitdir: ")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path), nil
}
