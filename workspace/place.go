package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
)

// Place is where worktrees are made.
type Place string

// The places of worktrees.
const (
	PlaceData       Place = "data"       // in the manager's base
	PlaceRepository Place = "repository" // in .middleman/work of the main checkout, which git is told to pass over
)

// check refuses what r cannot have.
func (p Place) check(r CreateRequest) error {
	switch {
	case p != "" && p != PlaceData && p != PlaceRepository:
		return fmt.Errorf("place %q: want data or repository: %w", string(p), ErrBadRequest)
	case p == PlaceRepository && r.Mode != ModeWorktree:
		return fmt.Errorf("mode %s is not placed in a repository: %w", r.Mode, ErrBadRequest)
	}
	return nil
}

// openFor opens the base that the workspace of r is made in.
func (m *Manager) openFor(ctx context.Context, r CreateRequest) (*os.Root, error) {
	place := r.Place
	if place == "" {
		place = m.place
	}
	switch {
	case r.Parent != nil:
		scope, err := basedir.ScopeFor(*r.Parent)
		if err != nil {
			return nil, err
		}
		return basedir.OpenIn(scope, true)
	case place != PlaceRepository:
		return basedir.Make(m.base)
	}
	repo, err := git.Discover(ctx, r.Directory)
	if err != nil {
		return nil, err
	}
	top, err := mainCheckout(repo)
	if errors.Is(err, ErrBadRequest) && r.Place == "" {
		return basedir.Make(m.base)
	}
	if err != nil {
		return nil, err
	}
	return basedir.OpenIn(top, true)
}

// mainCheckout is the canonical top of the main checkout, which a bare repository
// has not.
func mainCheckout(r git.Repository) (string, error) {
	if git.SameDir(r.Main, r.Here.CommonDir) {
		return "", fmt.Errorf("%s: a bare repository has no checkout to place workspaces in: %w", plaintext.Quoted(r.Main), ErrBadRequest)
	}
	return filepath.EvalSymlinks(r.Main)
}

// openIntended opens the base that w was to be made in, or was begun in: Root
// says which, where it is not the manager's own; else what is found in the
// repository.
func (m *Manager) openIntended(ctx context.Context, w Workspace) (*os.Root, error) {
	if scope, ok := basedir.ScopeOf(w.Root); ok {
		return basedir.OpenIn(scope, true)
	}
	if w.Root != "" || w.Mode != ModeWorktree || w.Repository == "" {
		return basedir.Make(m.base)
	}
	repo, err := git.Discover(ctx, w.Repository)
	if err != nil {
		return basedir.Make(m.base) // whoever wants to know of the repository finds out
	}
	top, err := mainCheckout(repo)
	if err != nil {
		return basedir.Make(m.base)
	}
	root := basedir.InScope(top, w.ID)
	entry, err := git.FindEntry(repo.Here.CommonDir, root)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(root); entry != "" || !errors.Is(err, fs.ErrNotExist) {
		return basedir.OpenIn(top, true)
	}
	return basedir.Make(m.base)
}
