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

// Location says where worktrees are made.
type Location string

// The values of Location.
const (
	LocationData       Location = "data"       // in the manager's base
	LocationRepository Location = "repository" // in .middleman/work of the main checkout, which git is told to ignore
)

// check refuses a location that r cannot have.
func (l Location) check(r CreateRequest) error {
	switch {
	case l != "" && l != LocationData && l != LocationRepository:
		return fmt.Errorf("place %q: it must be data or repository: %w", string(l), ErrBadRequest)
	case l == LocationRepository && r.Mode != ModeWorktree:
		return fmt.Errorf("a workspace of mode %s cannot be in a repository: %w", r.Mode, ErrBadRequest)
	}
	return nil
}

// openFor opens the directory in which the workspace of r will be made.
func (m *Manager) openFor(ctx context.Context, r CreateRequest) (*os.Root, error) {
	location := r.Location
	if location == "" {
		location = m.location
	}
	switch {
	case r.Parent != nil:
		scope, err := basedir.ScopeFor(*r.Parent)
		if err != nil {
			return nil, err
		}
		return basedir.OpenIn(scope, true)
	case location != LocationRepository:
		return basedir.Make(m.base)
	}
	repo, err := locate(ctx, r)
	if err != nil {
		return nil, err
	}
	top, err := mainCheckout(repo)
	if errors.Is(err, ErrBadRequest) && r.Location == "" {
		return basedir.Make(m.base)
	}
	if err != nil {
		return nil, err
	}
	return basedir.OpenIn(top, true)
}

// mainCheckout returns the canonical top of the main checkout. A bare
// repository has none, which is an ErrBadRequest.
func mainCheckout(r git.Repository) (string, error) {
	if git.SameDir(r.Main, r.Here.CommonDir) {
		return "", fmt.Errorf("%s: a bare repository has no checkout that workspaces could be in: %w", plaintext.Quoted(r.Main), ErrBadRequest)
	}
	return filepath.EvalSymlinks(r.Main)
}

// openIntended opens the directory that holds, or was to hold, what there is of w,
// and sets w.Root to its place there. If w.Root is empty it searches the repository
// and the base.
func (m *Manager) openIntended(ctx context.Context, w *Workspace) (*basedir.Held, error) {
	if scope, ok := basedir.ScopeOf(w.Root); ok {
		return openScope(w, scope)
	}
	base, err := basedir.Make(m.base)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	if w.Root == "" && w.Mode == ModeWorktree {
		held, gitDir, err := openInRepository(ctx, w)
		if held != nil || err != nil {
			return held, err
		}
		if w.Root, err = basedir.Search(base, gitDir, w.ID); err != nil {
			return nil, err
		}
	}
	if w.Root == "" {
		w.Root = filepath.Join(base.Name(), w.ID)
	}
	return basedir.HoldingMade(m.base, *w)
}

// openInRepository is openIntended for a worktree that was made in the main
// checkout of its repository. It returns nil if there is none, and the common git
// directory, or "" if the repository is not found: the caller will see that error
// when it needs the repository.
func openInRepository(ctx context.Context, w *Workspace) (held *basedir.Held, gitDir string, err error) {
	if w.Repository == "" {
		return nil, "", nil
	}
	repo, err := git.Discover(ctx, w.Repository)
	if err != nil {
		return nil, "", nil
	}
	top, err := mainCheckout(repo)
	if err != nil {
		return nil, repo.Here.CommonDir, nil // a bare repository
	}
	root := basedir.InScope(top, w.ID)
	entry, err := git.FindEntry(repo.Here.CommonDir, w.ID, root)
	if err != nil {
		return nil, "", err
	}
	if _, err := os.Lstat(root); entry == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, repo.Here.CommonDir, nil
	}
	held, err = openScope(w, top)
	return held, repo.Here.CommonDir, err
}

// openScope opens the directory for workspaces in scope, and sets w.Root to its
// place there.
func openScope(w *Workspace, scope string) (*basedir.Held, error) {
	base, err := basedir.OpenIn(scope, true)
	if err != nil {
		return nil, err
	}
	w.Root = filepath.Join(base.Name(), w.ID)
	return &basedir.Held{Root: base}, nil
}
