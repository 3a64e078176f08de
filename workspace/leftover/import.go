package leftover

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

// Importable returns the record that the directory at path would have as a
// workspace. If it was ours and its record was lost, it keeps its id. A
// directory that a delete kept aside is in StateDeleted. Any other directory
// must lie in a checkout. It becomes an in-place workspace, which we never
// delete, and has no id. Nothing is changed.
func (f Finder) Importable(ctx context.Context, path string) (model.Workspace, error) {
	fail := func(err error) (model.Workspace, error) {
		return model.Workspace{}, fmt.Errorf("import %s: %w", plaintext.Quoted(path), err)
	}
	if err := git.CheckDirectory(path); err != nil {
		return fail(err)
	}
	canonical, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fail(err)
	}
	w, err := f.importable(ctx, canonical)
	if err != nil {
		return fail(err)
	}
	return w, nil
}

func (f Finder) importable(ctx context.Context, path string) (model.Workspace, error) {
	for _, given := range append([]string{""}, f.Given...) {
		base, err := basedir.Recorded(f.Base, model.Workspace{Root: path, BaseDir: given})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return model.Workspace{}, err
		}
		defer base.Close()
		if filepath.Dir(path) == base.Name() && given == "" {
			return f.ownImportable(ctx, &listed{root: base}, filepath.Base(path))
		}
		if group, is := groupOf(base, path); is {
			defer group.root.Close()
			if given != "" {
				group.given = base.Name()
			}
			if !group.foreign(filepath.Base(path)) {
				return f.ownImportable(ctx, group, filepath.Base(path))
			}
		}
	}
	return f.inPlace(ctx, path)
}

// groupOf opens the group in base in which path lies, if there is one.
func groupOf(base *os.Root, path string) (group *listed, is bool) {
	name := filepath.Base(filepath.Dir(path))
	if groups, err := basedir.Groups(base); err != nil || !slices.Contains(groups, name) || filepath.Dir(path) != filepath.Join(base.Name(), name) {
		return nil, false
	}
	root, err := basedir.OpenGroup(base, name, false)
	return &listed{root: root, group: true}, err == nil
}

// ownImportable returns the record for the entry called name in a base or a group.
func (f Finder) ownImportable(ctx context.Context, in *listed, name string) (model.Workspace, error) {
	kind, id := in.kindOf(name)
	switch kind {
	case KindDirectory, KindDeleting:
		return f.identify(ctx, in, name)
	case KindKept:
		info, err := in.root.Lstat(name)
		if err == nil && model.CheckID(id) != nil {
			err = model.CheckID(id)
		}
		if err != nil {
			return model.Workspace{}, err
		}
		return model.Workspace{ID: id, Name: id, Mode: model.ModeDirectory, Root: filepath.Join(in.root.Name(), id), BaseDir: in.given, State: model.StateDeleted, CreatedAt: info.ModTime().UTC()}, nil
	}
	return model.Workspace{}, fmt.Errorf("a %s, which does not belong to a workspace: %w", kind, model.ErrBadRequest)
}

// Adopt moves the directory of a workspace from Importable back to its place,
// if an interrupted delete had moved it.
func (f Finder) Adopt(w model.Workspace) error {
	if w.Mode == model.ModeInPlace || w.State == model.StateDeleted {
		return nil
	}
	base, err := basedir.Holding(f.Base, w)
	if err != nil {
		return fmt.Errorf("import workspace %s: %w", w.Name, err)
	}
	defer base.Close()
	dir, err := basedir.Find(base.Root, w)
	if err == nil && dir == "" {
		err = fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
	}
	if err == nil && dir != w.Root {
		err = base.Rename(basedir.DeletingName(w.ID), basedir.Name(w))
	}
	if err != nil {
		return fmt.Errorf("import workspace %s: %w", w.Name, err)
	}
	fault.Here("import/placed")
	return nil
}

// inPlace returns an in-place workspace for the user's directory dir, with the
// repository and branch of its checkout.
func (f Finder) inPlace(ctx context.Context, dir string) (model.Workspace, error) {
	repo, err := git.Discover(ctx, dir)
	if err != nil {
		return model.Workspace{}, err
	}
	if repo.Here.WorkTree == "" {
		return model.Workspace{}, fmt.Errorf("%s: a bare repository has no checkout to work in: %w", plaintext.Quoted(dir), model.ErrNotRepository)
	}
	w := model.Workspace{
		Mode: model.ModeInPlace, Root: repo.Here.WorkTree, Subdir: repo.Subdir(dir),
		Repository: repo.Main, GitDir: repo.Here.CommonDir, State: model.StateReady,
	}
	head, err := repo.Here.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: HEAD is detached
		return model.Workspace{}, err
	}
	w.Branch = strings.TrimPrefix(head, "refs/heads/")
	w.Name = "worktree"
	if name, err := model.Slug(filepath.Base(w.Root)); err == nil {
		w.Name = name
	}
	w.Name = f.nameOf(w.Branch, w.Name)
	return w, nil
}

// FillInPlace adds repository and branch to an in-place workspace. It leaves
// them empty if the directory is in no repository, or if git fails.
func (f Finder) FillInPlace(ctx context.Context, w *model.Workspace) {
	if found, err := f.inPlace(ctx, w.Root); err == nil {
		w.Repository, w.GitDir, w.Branch = found.Repository, found.GitDir, found.Branch
	}
}

// Passed is a worktree or snapshot that is not imported, and the reason.
type Passed struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Candidates returns the worktrees of dir's repository that could be
// workspaces, except the main checkout, and the deleted workspaces that the
// repository keeps. Nothing is changed.
func (f Finder) Candidates(ctx context.Context, dir string) (list []model.Workspace, kept []keep.Kept, passed []Passed, err error) {
	fail := func(err error) ([]model.Workspace, []keep.Kept, []Passed, error) {
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
		w, err := f.candidate(ctx, tree)
		if err != nil {
			passed = append(passed, Passed{tree.Path, err.Error()})
			continue
		}
		list = append(list, w)
	}
	kept, others, err := keep.Snapshots(ctx, f.bases(), repo.Here.CommonDir, repo.Main)
	if err != nil {
		return fail(err)
	}
	for id, why := range others {
		passed = append(passed, Passed{keep.Ref(id), why.Error()})
	}
	slices.SortFunc(passed, func(a, b Passed) int { return strings.Compare(a.Path, b.Path) })
	return list, kept, passed, nil
}

// candidate returns the record for a worktree that git has listed.
func (f Finder) candidate(ctx context.Context, tree git.Worktree) (model.Workspace, error) {
	if tree.Gone != "" {
		return model.Workspace{}, errors.New(tree.Gone)
	}
	w, err := f.importable(ctx, tree.Path)
	if err == nil && w.Mode == model.ModeInPlace && strings.HasPrefix(tree.Locked, git.WorkspaceReason("")) {
		err = errors.New("it is a workspace of another data directory; name it to import it nevertheless")
	}
	return w, err
}

// Unrecorded returns the workspaces in our base that are provably ours and have
// no record. Nothing is changed.
func (f Finder) Unrecorded(ctx context.Context, recorded Recorded) ([]model.Workspace, error) {
	holders, err := f.open() // before the records, see survey
	if err != nil {
		return nil, err
	}
	defer closeAll(holders)
	r, err := recorded(ctx)
	if err != nil {
		return nil, err
	}
	var list []model.Workspace
	for _, in := range holders {
		for _, name := range in.names {
			kind, id := in.kindOf(name)
			if _, known := owner(r.Workspaces, id); known || kind != KindDirectory || model.CheckID(id) != nil {
				continue
			}
			if w, err := f.identify(ctx, in, name); err == nil {
				list = append(list, w)
			}
		}
	}
	return list, ctx.Err()
}
