package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/plainfile"
)

// Worktree is a checkout that git lists.
type Worktree struct {
	Path   string
	Bare   bool   // the repository has no main checkout, and Path is its directory
	Branch string // a full ref name, or ""
	Locked string // why it is locked, as git shows it; also "" if it is locked without a reason
	Gone   string // why git would prune it, or ""
}

// Worktrees lists every checkout of a repository, the main one first, as git knows them:
// see MainCheckout for where the first is. Whether the others are still there is not
// checked, nor what is there.
func (p Dirs) Worktrees(ctx context.Context) ([]Worktree, error) {
	var list []Worktree
	c := p.Look("worktree", "list", "--porcelain", "-z")
	c.Again = func() { list = nil }
	c.Each = func(record string) {
		key, value, _ := strings.Cut(record, " ")
		if key == "worktree" {
			list = append(list, Worktree{Path: filepath.FromSlash(value)})
			return
		}
		if len(list) == 0 {
			return
		}
		last := &list[len(list)-1]
		switch key {
		case "bare":
			last.Bare = true
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

// MainCheckout returns the main checkout of the repository, "" if there is none or nobody
// knows where it is. trees is what Worktrees returned; known are directories that may be it.
//
// It is where core.worktree leads or, without that, the first of known and of what git
// lists whose .git leads to the repository. What git lists is a guess: the repository's
// directory itself, or what holds it, where that is not the .git of the checkout, as for a
// submodule and with `git init --separate-git-dir`. Whoever wrote the configuration may have
// named any directory, so what has no such .git is no checkout.
func (p Dirs) MainCheckout(ctx context.Context, trees []Worktree, known ...string) (string, error) {
	if trees[0].Bare {
		return "", nil
	}
	// With GIT_COMMON_DIR git does not look at core.worktree. Without that setting it
	// takes the current directory for the checkout.
	c := Whole(p.CommonDir).Look("rev-parse", "--show-toplevel")
	c.Env = slices.DeleteFunc(c.Env, func(pair string) bool { return strings.HasPrefix(pair, "GIT_COMMON_DIR=") })
	top, err := c.Line(ctx)
	if _, failed := errors.AsType[*Error](err); failed {
		return "", nil // it leads nowhere
	}
	if err != nil {
		return "", err
	}
	candidates := append(known, trees[0].Path)
	if top = filepath.FromSlash(top); !SameDir(top, p.CommonDir) {
		candidates = []string{top}
	}
	for _, dir := range candidates {
		if dir != "" && isMainCheckout(dir, p.CommonDir) {
			return dir, nil
		}
	}
	return "", nil
}

// isMainCheckout reports whether the .git in dir leads to the repository: it is the
// repository's directory, a link to it, or a file that names it.
func isMainCheckout(dir, commonDir string) bool {
	dot := filepath.Join(dir, ".git")
	if SameDir(dot, commonDir) {
		return true
	}
	named, err := ReadGitFile(dot)
	return err == nil && named != "" && SameDir(named, commonDir)
}

// FindEntry returns git's directory for the worktree at root, or "" if the
// repository has none. It searches the repository, because a program in the
// worktree may have changed the .git file there. id is that of the workspace whose
// directory root is: git names the entry by it, so that is tried first, and the
// entry of another workspace is never returned. With id "" any entry will do.
func FindEntry(commonDir, id, root string) (string, error) {
	if _, err := os.Stat(commonDir); err != nil {
		return "", fmt.Errorf("look at the repository (if it was moved, run `middleman repair`): %w", err)
	}
	if id != "" {
		own := entryNamed(commonDir, id)
		if at, err := EntryRoot(own); err == nil && at == root {
			return own, nil
		}
	}
	found := ""
	err := eachEntry(commonDir, func(entry, at string) (bool, error) {
		if at != root {
			return true, nil
		}
		if name := filepath.Base(entry); id != "" && name != id {
			reason, err := LockReason(filepath.Join(entry, "locked"))
			if err != nil || reason == WorkspaceReason(name) {
				return true, err
			}
		}
		found = entry
		return false, nil
	})
	return found, err
}

// EntryOn returns git's directory for the worktree at root that has the branch ref checked
// out, or "". Several entries may name one root: `git worktree repair` leaves that after a
// worktree was moved by hand, and only one of them is what the .git there leads to.
func EntryOn(ctx context.Context, commonDir, root, ref string) (found string, err error) {
	err = eachEntry(commonDir, func(entry, at string) (bool, error) {
		if at != root {
			return true, nil
		}
		head, err := Dirs{GitDir: entry, CommonDir: commonDir}.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
		if _, failed := errors.AsType[*Error](err); failed { // it is detached, or damaged
			return true, nil
		}
		if err == nil && head == ref {
			found = entry
		}
		return found == "", err
	})
	return found, err
}

// WorkspaceReason is the reason with which the worktree of the workspace with that
// id is locked.
func WorkspaceReason(id string) string { return "middleman workspace " + id }

// EntryRoots returns the directories of the repository's worktrees, whether they
// exist or not, each with git's directory for it.
func EntryRoots(commonDir string) (map[string]string, error) {
	roots := map[string]string{}
	err := eachEntry(commonDir, func(entry, root string) (bool, error) {
		roots[root] = entry
		return true, nil
	})
	return roots, err
}

// EntryRoot returns the directory of the worktree whose git directory is entry.
func EntryRoot(entry string) (string, error) {
	target, err := ReadPath(filepath.Join(entry, "gitdir"), entry)
	return filepath.Dir(target), err
}

// eachEntry calls f for git's directory of each worktree of the repository, and
// for the worktree's directory, until f returns false or an error.
func eachEntry(commonDir string, f func(entry, root string) (bool, error)) error {
	entries, err := os.ReadDir(filepath.Join(commonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list worktrees: %w", err)
	}
	for _, e := range entries {
		entry := entryNamed(commonDir, e.Name())
		target, err := ReadPath(filepath.Join(entry, "gitdir"), entry)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process is making or removing it
		}
		if err != nil {
			return fmt.Errorf("read worktree entry: %w", err)
		}
		if filepath.Base(target) != ".git" {
			continue // git reads it as no worktree's
		}
		if more, err := f(entry, filepath.Dir(target)); err != nil || !more {
			return err
		}
	}
	return nil
}

func entryNamed(commonDir, name string) string { return filepath.Join(commonDir, "worktrees", name) }

// RemoveEntry removes the repository's entry for the worktree at root, and no
// other. It does what "git worktree remove" does to the repository, and touches
// nothing at root. No entry is no error. id is as for FindEntry, and not "".
func RemoveEntry(commonDir, id, root string) error {
	entry, err := FindEntry(commonDir, id, root)
	if err != nil {
		return err
	}
	if entry == "" {
		// A killed git, or a killed removal, may leave an entry without its
		// gitdir file, so FindEntry cannot match it. No other entry has its name.
		entry = entryNamed(commonDir, id)
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
	content, err := readSmall(file)
	if err != nil {
		return "", err
	}
	return pathIn(content, dir), nil
}

// ReadGitFile returns the git directory that a file with the name .git names, "" if it names
// none. It does not check what is there.
func ReadGitFile(file string) (string, error) {
	content, err := readSmall(file)
	if err != nil || !strings.HasPrefix(content, gitFilePrefix) {
		return "", err
	}
	return pathIn(content, filepath.Dir(file)), nil
}

const gitFilePrefix = "gitdir: "

// pathIn returns the path that the content of a file is, relative to dir.
func pathIn(content, dir string) string {
	path := strings.TrimPrefix(strings.TrimRight(content, "\r\n"), gitFilePrefix)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// readSmall returns the content of a small regular file.
func readSmall(file string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer root.Close()
	content, err := plainfile.Read(root, filepath.Base(file), maxSmall)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return string(content), nil
}
