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

// Location says where worktrees are made: one of the constants below, or the
// absolute path of a base directory.
type Location string

// The values of Location that are no path.
const (
	LocationData       Location = "data"       // in the manager's base
	LocationRepository Location = "repository" // in .middleman/work of the main checkout, which git is told to ignore
)

// check refuses a location that r cannot have.
func (l Location) check(r CreateRequest) error {
	switch {
	case l == "" || l == LocationData:
		return nil
	case l != LocationRepository && !l.isPath():
		return fmt.Errorf("place %q: it must be data, repository or an absolute path: %w", string(l), ErrBadRequest)
	case r.Mode != ModeWorktree && l == LocationRepository:
		return fmt.Errorf("a workspace of mode %s cannot be in a repository: %w", r.Mode, ErrBadRequest)
	case r.Mode != ModeWorktree:
		return fmt.Errorf("a workspace of mode %s cannot be in %s, which is for worktrees: %w", r.Mode, plaintext.Quoted(string(l)), ErrBadRequest)
	}
	return nil
}

// isPath reports whether l is the path of a base directory.
func (l Location) isPath() bool { return filepath.IsAbs(string(l)) }

// located returns the location of r, which may leave it to the manager: a path is
// canonical and checked.
func (m *Manager) located(ctx context.Context, r CreateRequest) (Location, error) {
	l := r.Location
	if l == "" {
		l = m.location
	}
	if r.Parent != nil || r.Mode != ModeWorktree || !l.isPath() {
		return l, nil
	}
	path, err := basedir.Given(ctx, m.base, string(l))
	return Location(path), err
}

// openFor opens the directory in which the workspace of r will be made, and sets
// w.BaseDir to it if the user named it.
func (m *Manager) openFor(ctx context.Context, r CreateRequest, w *Workspace) (*os.Root, error) {
	location, err := m.located(ctx, r)
	if err != nil {
		return nil, err
	}
	scope := ""
	switch {
	case r.Parent != nil:
		scope, err = basedir.ScopeFor(*r.Parent)
	case location.isPath():
		scope = string(location)
	case location == LocationRepository:
		var repo git.Repository
		if repo, err = locate(ctx, r); err == nil {
			scope, err = mainCheckout(repo)
		}
		if errors.Is(err, ErrBadRequest) && r.Location == "" {
			scope, err = "", nil
		}
	}
	if err == nil && scope != "" {
		scope, err = r.unexposed(ctx, scope)
	}
	switch {
	case err != nil:
		return nil, err
	case scope == "":
		return basedir.Make(m.base)
	case location.isPath() && r.Parent == nil:
		w.BaseDir = scope
		return basedir.MakeGiven(scope)
	}
	return basedir.OpenIn(scope, true)
}

// unexposed returns dir, or "" if it is exposed and the user did not name it: then
// the workspace is made in the manager's base.
func (r CreateRequest) unexposed(ctx context.Context, dir string) (string, error) {
	if r.Exposed == nil {
		return dir, nil
	}
	why, err := r.Exposed(ctx, dir)
	switch {
	case err != nil:
		return "", err
	case why == "":
		return dir, nil
	case r.Parent != nil || r.Location == "" || r.usual:
		return "", nil
	}
	return "", fmt.Errorf("no worktree is made in %s, because %s: let it be made in middleman's own directory (place \"data\"): %w", plaintext.Quoted(dir), why, ErrBadRequest)
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
	if scope, ok := basedir.ScopeOf(w.Root); ok && w.BaseDir == "" {
		return openScope(w, scope)
	}
	base, err := basedir.Make(m.base)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	if w.BaseDir != "" && w.Root == "" {
		given, err := basedir.Open(w.BaseDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			defer given.Close()
			if w.Root, err = basedir.Search(given, gitDirOf(ctx, w.Repository), w.ID); err != nil {
				return nil, err
			}
		}
		if w.Root == "" { // nothing was made there
			w.BaseDir = ""
		}
	}
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

// gitDirOf returns the common git directory of the repository that contains dir, or
// "" if there is none.
func gitDirOf(ctx context.Context, dir string) string {
	if dir == "" {
		return ""
	}
	repo, _ := git.Discover(ctx, dir)
	return repo.Here.CommonDir
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
