package basedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/workspace/model"
)

// Given returns the canonical path of a base directory that the user names. It need
// not exist yet. It must be a private directory, as the manager's own base must, and
// lie neither in that nor in a checkout that does not ignore it: its worktrees would
// show there as untracked files. A link is followed now, and never again.
func Given(ctx context.Context, own, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("directory for worktrees %s: not an absolute path: %w", plaintext.Quoted(path), model.ErrBadRequest)
	}
	if err := plainfile.CheckPath(path); err != nil {
		return "", fmt.Errorf("directory for worktrees %s: %w: %w", plaintext.Quoted(path), err, model.ErrBadRequest)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	canonical, err := Canonical(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	if inside, err := Canonical(own); err != nil {
		return "", err
	} else if below, err := filepath.Rel(inside, canonical); err == nil && filepath.IsLocal(below) {
		return "", fmt.Errorf("directory for worktrees %s: it is in %s, where they are made without it: %w", plaintext.Quoted(canonical), inside, model.ErrBadRequest)
	}
	return canonical, checkUnseen(ctx, canonical)
}

// checkUnseen refuses a directory that a checkout shows, or that is in a repository.
func checkUnseen(ctx context.Context, dir string) error {
	ancestor := ""
	for at := dir; ; at = filepath.Dir(at) {
		there, err := Exists(at)
		if err != nil {
			return fmt.Errorf("look at directory for worktrees: %w", err)
		}
		if there && ancestor == "" {
			ancestor = at
		}
		if isGitDir(at) {
			return fmt.Errorf("directory for worktrees %s: it is in the repository %s: %w", plaintext.Quoted(dir), plaintext.Quoted(at), model.ErrBadRequest)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	repo, err := git.Discover(ctx, ancestor)
	if errors.Is(err, model.ErrNotRepository) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find out whether %s is in a checkout: %w", plaintext.Quoted(dir), err)
	}
	below, err := filepath.Rel(repo.Here.WorkTree, dir)
	if err != nil || !filepath.IsLocal(below) {
		return err
	}
	if below != "." {
		_, err = repo.Here.Look("check-ignore", "--quiet", "--", filepath.ToSlash(below)+"/").Run(ctx)
		if err == nil {
			return nil
		}
		if git.ExitCode(err) != 1 { // status 1: it is not ignored
			return err
		}
	}
	return fmt.Errorf("directory for worktrees %s: it is in the checkout %s, which would show them; name one outside, or have git ignore it: %w",
		plaintext.Quoted(dir), plaintext.Quoted(repo.Here.WorkTree), model.ErrBadRequest)
}

// isGitDir reports whether dir has what each git directory has.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// MakeGiven opens a base directory from Given, and makes a missing one with mode
// 0700. It changes nothing of one that is there. The caller closes it.
func MakeGiven(canonical string) (*os.Root, error) {
	root, err := Open(canonical)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := private.MakeDir(canonical); err != nil {
		return nil, unsafe(err)
	}
	return Open(canonical)
}
