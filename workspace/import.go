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

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/model"
)

// Importable is the record that the directory at path would have as a
// workspace. One that was ours, and whose record was lost, has its id; a
// directory that a delete has kept aside is in StateDeleted. Anything else must
// be in a checkout, by whomever it was made: it is in place, so that nothing
// of ours ever deletes it, and has no id. Nothing is changed.
func (m *Manager) Importable(ctx context.Context, path string) (Workspace, error) {
	canonical, err := filepath.EvalSymlinks(path)
	if err == nil && !filepath.IsAbs(canonical) {
		err = fmt.Errorf("not an absolute path: %w", ErrBadRequest)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("import %s: %w", plaintext.Quoted(path), err)
	}
	w, err := m.importable(ctx, canonical)
	if err != nil {
		return Workspace{}, fmt.Errorf("import %s: %w", plaintext.Quoted(path), err)
	}
	return w, nil
}

func (m *Manager) importable(ctx context.Context, path string) (Workspace, error) {
	base, err := basedir.Recorded(m.base, Workspace{Root: path})
	switch {
	case err == nil:
		defer base.Close()
		if filepath.Dir(path) == base.Name() {
			return m.ownImportable(ctx, base, filepath.Base(path))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Workspace{}, err
	}
	return m.inPlace(ctx, path)
}

// ownImportable is what is called name in a base.
func (m *Manager) ownImportable(ctx context.Context, base *os.Root, name string) (Workspace, error) {
	kind, id := kindOf(name)
	switch kind {
	case LeftoverDirectory, LeftoverDeleting:
		return m.identify(ctx, base, id)
	case LeftoverKept:
		info, err := base.Lstat(name)
		if err == nil && model.CheckID(id) != nil {
			err = model.CheckID(id)
		}
		if err != nil {
			return Workspace{}, err
		}
		return Workspace{ID: id, Name: id, Mode: ModeDirectory, Root: filepath.Join(base.Name(), id), State: StateDeleted, CreatedAt: info.ModTime().UTC()}, nil
	}
	return Workspace{}, fmt.Errorf("a %s, which is none of a workspace: %w", kind, ErrBadRequest)
}

// Adopt has the directory of a workspace that Importable gave in its place:
// an interrupted delete may have moved it.
func (m *Manager) Adopt(w Workspace) error {
	if w.Mode == ModeInPlace || w.State == StateDeleted {
		return nil
	}
	base, err := basedir.Holding(m.base, w)
	if err != nil {
		return fmt.Errorf("import workspace %s: %w", w.Name, err)
	}
	defer base.Close()
	dir, err := basedir.Find(base, w)
	if err == nil && dir == "" {
		err = fmt.Errorf("%s: %w", w.Root, ErrMissing)
	}
	if err == nil && dir != w.Root {
		err = base.Rename(basedir.DeletingName(w.ID), w.ID)
	}
	if err != nil {
		return fmt.Errorf("import workspace %s: %w", w.Name, err)
	}
	fault.Here("import/placed")
	return nil
}

// inPlace is the user's directory dir as a workspace: what repository and
// branch it is of, if it is in a checkout.
func (m *Manager) inPlace(ctx context.Context, dir string) (Workspace, error) {
	repo, err := git.Discover(ctx, dir)
	if err != nil {
		return Workspace{}, err
	}
	if repo.Here.WorkTree == "" {
		return Workspace{}, fmt.Errorf("%s: a bare repository has no checkout to work in: %w", plaintext.Quoted(dir), ErrNotRepository)
	}
	w := Workspace{
		Mode: ModeInPlace, Root: repo.Here.WorkTree, Subdir: subdirOf(repo.Here.WorkTree, dir),
		Repository: repo.Main, GitDir: repo.Here.CommonDir, State: StateReady,
	}
	head, err := repo.Here.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // 1: detached
		return Workspace{}, err
	}
	w.Branch = strings.TrimPrefix(head, "refs/heads/")
	w.Name = "worktree"
	if name, err := Slug(filepath.Base(w.Root)); err == nil {
		w.Name = name
	}
	w.Name = m.nameOf(w.Branch, w.Name)
	return w, nil
}

// fillInPlace adds to a workspace in place what repository and branch it is
// of. A directory in none is a workspace as well, and so is one of which git
// does not say.
func (m *Manager) fillInPlace(ctx context.Context, w *Workspace) {
	if found, err := m.inPlace(ctx, w.Root); err == nil {
		w.Repository, w.GitDir, w.Branch = found.Repository, found.GitDir, found.Branch
	}
}

// Passed is a worktree that is not imported, and why.
type Passed struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Candidates are the worktrees of the repository of dir that could be
// workspaces, but for its main checkout, and the deleted workspaces that it
// keeps. Nothing is changed.
func (m *Manager) Candidates(ctx context.Context, dir string) (list []Workspace, kept []Kept, passed []Passed, err error) {
	fail := func(err error) ([]Workspace, []Kept, []Passed, error) {
		return nil, nil, nil, fmt.Errorf("import the worktrees of %s: %w", plaintext.Quoted(dir), err)
	}
	repo, err := git.Discover(ctx, dir)
	if err != nil {
		return fail(err)
	}
	trees, err := repo.Here.Worktrees(ctx)
	if err != nil {
		return fail(err)
	}
	for _, tree := range trees[1:] {
		w, err := m.candidate(ctx, tree)
		if err != nil {
			passed = append(passed, Passed{tree.Path, err.Error()})
			continue
		}
		list = append(list, w)
	}
	kept, others, err := m.Snapshots(ctx, repo.Here.CommonDir, repo.Main)
	if err != nil {
		return fail(err)
	}
	for id, why := range others {
		passed = append(passed, Passed{keep.Ref(id), why.Error()})
	}
	slices.SortFunc(passed, func(a, b Passed) int { return strings.Compare(a.Path, b.Path) })
	return list, kept, passed, nil
}

// candidate judges a worktree that git has listed.
func (m *Manager) candidate(ctx context.Context, tree git.Worktree) (Workspace, error) {
	if tree.Gone != "" {
		return Workspace{}, errors.New(tree.Gone)
	}
	w, err := m.importable(ctx, tree.Path)
	if err == nil && w.Mode == ModeInPlace && strings.HasPrefix(tree.Locked, model.LockReason("")) {
		err = errors.New("it is a workspace of another data directory; name it to import it nevertheless")
	}
	return w, err
}

// Unrecorded are the workspaces in our base whose records were lost: what is
// proved to be ours and has none. Nothing is changed.
func (m *Manager) Unrecorded(ctx context.Context, recorded Recorded) ([]Workspace, error) {
	base, err := basedir.Open(m.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer base.Close()
	names, err := namesIn(base) // before the records, see Leftovers
	if err != nil {
		return nil, err
	}
	r, err := recorded(ctx)
	if err != nil {
		return nil, err
	}
	var list []Workspace
	for _, name := range names {
		if _, known := owner(r.Workspaces, name); known || model.CheckID(name) != nil {
			continue
		}
		if w, err := m.identify(ctx, base, name); err == nil {
			list = append(list, w)
		}
	}
	return list, ctx.Err()
}
