package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

// Bounds of the search for repositories in a directory that a session may write to.
const (
	searchDepth    = 3      // directories below it
	maxDirectories = 100000 // that are looked at
)

// Part is a file or directory that is to be read-only, and the line that says so.
type Part struct{ Path, Note string }

// Elsewhere is a directory that a repository is in besides its checkout: its git directory,
// or the one that this shares. Nothing need be there.
type Elsewhere struct{ Checkout, Path string }

// Beside returns what protects the user's repositories in dir, a canonical directory that a
// session may write to besides its workspace. Of one that dir is the checkout of that is
// .git, and what its settings and submodules need. An entry of dir that holds one is read-only
// as a whole, because a directory in it could be renamed, and another put in its place. A
// repository that a session has made there is protected as well: nobody knows whose it is.
// Where the .git of a checkout is a file or a link, elsewhere has what it leads to.
func Beside(ctx context.Context, dir string) (parts []Part, elsewhere []Elsewhere, err error) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil, nil, err
	}
	if parts, err = ofTop(ctx, dir); err != nil {
		return nil, nil, err
	}
	found, checkouts, err := search(ctx, dir)
	for _, checkout := range append([]string{dir}, checkouts...) {
		elsewhere = append(elsewhere, ledTo(checkout)...)
	}
	for _, top := range sortedKeys(found) {
		parts = append(parts, Part{top, fmt.Sprintf("%s is read-only in the sandbox: %s has a repository, which may be yours; to write there let `writable` name that directory, and none above it",
			plaintext.Quoted(top), plaintext.Quoted(found[top]))})
	}
	return parts, elsewhere, err
}

// ledTo returns what the .git of a checkout leads to, if it is no directory.
func ledTo(checkout string) (all []Elsewhere) {
	dot := filepath.Join(checkout, ".git")
	info, err := os.Lstat(dot)
	if err != nil || info.IsDir() {
		return nil
	}
	dir := dot // a link
	if info.Mode().IsRegular() {
		if dir, err = git.ReadGitFile(dot); err != nil || dir == "" {
			return nil // git takes it for no repository either
		}
	}
	all = []Elsewhere{{checkout, dir}}
	if common, err := git.ReadPath(filepath.Join(dir, "commondir"), dir); err == nil {
		all = append(all, Elsewhere{checkout, common})
	}
	return all
}

// ofTop is Beside for the repository that dir is the checkout of.
func ofTop(ctx context.Context, dir string) ([]Part, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link, which a program in the sandbox could replace: make it a file (`git init --separate-git-dir`), or name other directories", plaintext.Quoted(dot))
	}
	parts := []Part{{dot, plaintext.Quoted(dot) + " is read-only in the sandbox, so git cannot commit there"}}
	r, err := git.Discover(ctx, dir)
	if errors.Is(err, git.ErrNotRepository) || err == nil && r.Here.WorkTree != dir {
		return parts, nil // nothing of git's that the program could not make elsewhere
	}
	if err != nil {
		return nil, err
	}
	s := site{Dirs: r.Here}
	var needed Access
	if err := s.guard(ctx, &needed); err != nil {
		return nil, err
	}
	modules, err := s.submodules(ctx)
	for _, name := range sortedKeys(modules) {
		needed.ReadOnly = append(needed.ReadOnly, sandbox.Top(filepath.Join(dir, filepath.FromSlash(name)), dir))
	}
	for _, path := range needed.ReadOnly {
		parts = append(parts, Part{path, fmt.Sprintf("%s is read-only in the sandbox: the repository in %s has settings, a worktree or a submodule in it", plaintext.Quoted(path), plaintext.Quoted(dir))})
	}
	return parts, err
}

// search finds repositories below dir, and returns one for each entry of dir that leads to
// any, and all that it has seen. It follows no links, and looks no further in an entry that
// has one.
func search(ctx context.Context, dir string) (found map[string]string, all []string, err error) {
	found = map[string]string{}
	level := []string{dir}
	for depth, seen := 1, 0; depth <= searchDepth && len(level) > 0; depth++ {
		var next []string
		for _, at := range level {
			if at != dir && found[sandbox.Top(at, dir)] != "" {
				continue
			}
			entries, _ := os.ReadDir(at) // one that cannot be read has no repository of the user's
			for _, entry := range entries {
				if !entry.IsDir() || entry.Name() == ".git" {
					continue
				}
				if seen++; seen > maxDirectories {
					return nil, nil, fmt.Errorf("more than %d directories are in it, too many to search for repositories: let `writable` name some of them", maxDirectories)
				}
				path := filepath.Join(at, entry.Name())
				if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
					found[sandbox.Top(path, dir)] = path
					all = append(all, path)
				}
				next = append(next, path)
			}
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		level = next
	}
	return found, all, nil
}
