package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// importWorktrees makes workspaces of the directories in in.Paths or, if there
// are none, of the worktrees of the repository that contains in.Directory.
func (s *App) importWorktrees(ctx context.Context, in api.Import, dryRun bool) (api.Imported, error) {
	s.tidying.Lock()
	defer s.tidying.Unlock()
	out := api.Imported{DryRun: dryRun, Workspaces: []api.Workspace{}, Deleted: []api.Workspace{}, Passed: []workspace.Passed{}}
	found, kept, err := s.importable(ctx, in, &out)
	if err != nil {
		return out, err
	}
	for _, w := range found {
		row, why, err := s.importOne(ctx, w, dryRun)
		switch {
		case err != nil:
			return out, err
		case why != "":
			out.Passed = append(out.Passed, workspace.Passed{Path: w.Root, Why: why})
		case row.State == workspace.StateDeleted:
			out.Deleted = append(out.Deleted, s.workspaceView(ctx, row))
		default:
			out.Workspaces = append(out.Workspaces, s.workspaceView(ctx, row))
		}
	}
	for _, k := range kept {
		if added, err := s.importKept(ctx, k, dryRun); err != nil {
			return out, err
		} else if added {
			out.Deleted = append(out.Deleted, s.workspaceView(ctx, k.Workspace))
		}
	}
	if len(out.Workspaces) > 0 && !dryRun {
		s.adopt(ctx)
	}
	return out, nil
}

// importable finds the worktrees and snapshots that in asks for.
func (s *App) importable(ctx context.Context, in api.Import, out *api.Imported) ([]workspace.Workspace, []workspace.Kept, error) {
	if len(in.Paths) == 0 {
		found, kept, passed, err := s.Workspaces.Candidates(ctx, home(in.Directory))
		out.Passed = append(out.Passed, passed...)
		return found, kept, err
	}
	var found []workspace.Workspace
	for _, path := range in.Paths {
		path = home(path)
		w, err := s.Workspaces.Importable(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, w)
	}
	return found, nil, nil
}

// importOne stores a workspace, or returns in why the reason for passing it over.
func (s *App) importOne(ctx context.Context, w workspace.Workspace, dryRun bool) (row workspace.Workspace, why string, err error) {
	if w.ID != "" {
		leave := s.gates.block(w.ID)
		defer leave()
	}
	rows, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return w, "", err
	}
	for _, row := range rows {
		if row.ID == w.ID || filepath.Join(row.Root, row.Subdir) == filepath.Join(w.Root, w.Subdir) {
			return w, "it is workspace " + s.label(ctx, row) + " already", nil
		}
	}
	if w.State == workspace.StateDeleted {
		if _, err := s.Store.DeletedWorkspace(ctx, w.ID); err == nil {
			return w, "it is a deleted workspace that is known already: middleman restore " + w.ID, nil
		}
		if !dryRun {
			err = s.Store.AddDeleted(ctx, store.Deleted{Workspace: w, DeletedAt: w.CreatedAt})
		}
		return w, "", err
	}
	if dryRun {
		return w, "", nil
	}
	if w.ID == "" {
		w.ID, w.CreatedAt = terminal.NewID("w"), time.Now().UTC()
	}
	if err := s.Workspaces.Adopt(w); err != nil {
		return w, "", err
	}
	row, err = s.addImported(ctx, w)
	if err != nil {
		return w, "", err
	}
	fault.Here("import/row")
	s.publishWorkspace(ctx, row)
	return row, "", nil
}

// addImported stores a workspace under its name, with a number if that is taken.
func (s *App) addImported(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	err := numbered(w.Name, func(name string) error {
		w.Name = name
		return s.Store.CreateWorkspace(ctx, w)
	})
	return w, err
}

// importKept stores a deleted workspace that has no row. It reports whether it
// did or, in a dry run, would.
func (s *App) importKept(ctx context.Context, k workspace.Kept, dryRun bool) (bool, error) {
	leave := s.gates.block(k.ID)
	defer leave()
	_, live := s.Store.Workspace(ctx, k.ID)
	_, deleted := s.Store.DeletedWorkspace(ctx, k.ID)
	switch {
	case live == nil || deleted == nil:
		return false, nil
	case !errors.Is(live, store.ErrNotFound) || !errors.Is(deleted, store.ErrNotFound):
		return false, errors.Join(live, deleted)
	case dryRun:
		return true, nil
	}
	return true, s.Store.AddDeleted(ctx, store.Deleted{Workspace: k.Workspace, DeletedAt: k.DeletedAt})
}

// refind finds workspaces that have no row because the database was lost or
// replaced by an old copy. It adds those in the base directory that are proved
// to be middleman's, and the deleted ones that have snapshots in repositories.
func (s *App) refind(ctx context.Context) {
	s.tidying.Lock()
	defer s.tidying.Unlock()
	found, err := s.Workspaces.Unrecorded(ctx, s.surveyor(api.PruneQuery{}).recorded)
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("look for workspaces without a row", "error", err)
	}
	for _, w := range found {
		row, why, err := s.importOne(ctx, w, false)
		if err != nil {
			s.Log.Warn("adopt workspace", "workspace", w.ID, "error", err)
		} else if why == "" {
			s.Log.Info("workspace without a row was adopted", "workspace", row.ID, "name", row.Name)
		}
	}
	if err := s.refindDeleted(ctx); err != nil && ctx.Err() == nil {
		s.Log.Warn("look for deleted workspaces without a row", "error", err)
	}
}

// refindDeleted looks for snapshots in every repository that a row names and that
// is there. Each of the workspaces of one that is gone reports that.
func (s *App) refindDeleted(ctx context.Context) error {
	rows, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	var seen []string
	for _, w := range rows {
		if w.GitDir == "" || slices.Contains(seen, w.GitDir) {
			continue
		}
		seen = append(seen, w.GitDir)
		if _, err := os.Stat(w.GitDir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		kept, _, err := s.Workspaces.Snapshots(ctx, w.GitDir, w.Repository)
		if err != nil {
			s.Log.Info("look for deleted workspaces", "repository", w.Repository, "error", err)
			continue
		}
		for _, k := range kept {
			if added, err := s.importKept(ctx, k, false); err != nil {
				return err
			} else if added {
				s.Log.Info("deleted workspace without a row was adopted", "workspace", k.ID, "name", k.Name)
			}
		}
	}
	return nil
}

// trouble describes what of a ready workspace is missing or moved, or returns
// "". It ignores an error: an operation that needs the directory will report it.
func trouble(m Workspaces, w workspace.Workspace) string {
	if w.State != workspace.StateReady {
		return ""
	}
	where, err := m.Where(w)
	if err != nil {
		return ""
	}
	return where.Trouble(w)
}

// Trouble describes what of a ready workspace is missing or moved, or returns
// "". It is for use without a server, and gives the text that a server would.
func Trouble(m *workspace.Manager, w workspace.Workspace) string { return trouble(m, w) }

// repair finds moved workspaces and records where they are. If in names a
// workspace, it repairs that one and the troubled ones of the same repository;
// otherwise all troubled ones. For a workspace whose repository is gone it tries
// the one that the user stands in, which must prove that it is the one.
func (s *App) repair(ctx context.Context, in api.Repair, dryRun bool) (api.Repaired, error) {
	s.tidying.Lock()
	defer s.tidying.Unlock()
	out := api.Repaired{DryRun: dryRun, Workspaces: []api.Workspace{}, Found: []string{}, Failed: []workspace.Passed{}}
	rows, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return out, err
	}
	in.Repository, in.Directory = home(in.Repository), home(in.Directory)
	here := ""
	if in.Repository == "" && in.Directory != "" {
		if _, _, err := workspace.Checkout(ctx, in.Directory); err == nil {
			here = in.Directory
		}
	}
	gitDir := ""
	if in.Workspace != "" {
		w, err := s.Store.Workspace(ctx, in.Workspace)
		if err != nil {
			return out, err
		}
		gitDir = w.GitDir
	}
	for _, w := range rows {
		named := w.ID == in.Workspace
		if !named && (trouble(s.Workspaces, w) == "" || in.Workspace != "" && (w.GitDir == "" || w.GitDir != gitDir)) {
			continue
		}
		err := s.repairOne(ctx, w.ID, in.Repository, dryRun, &out)
		if (errors.Is(err, workspace.ErrMoved) || errors.Is(err, workspace.ErrMissing)) && here != "" && s.repairOne(ctx, w.ID, here, dryRun, &out) == nil {
			err = nil
		}
		if err != nil {
			if named {
				return out, err
			}
			out.Failed = append(out.Failed, workspace.Passed{Path: s.label(ctx, w), Why: s.Explain(err).Detail})
		}
	}
	in.Repository = cmp.Or(in.Repository, here)
	return out, s.repairDeleted(ctx, in, gitDir, dryRun, &out)
}

// repairOne reads a workspace's row again, repairs the workspace, and records
// the result.
func (s *App) repairOne(ctx context.Context, id, repository string, dryRun bool, out *api.Repaired) error {
	leave := s.gates.block(id)
	defer leave()
	before, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return err
	}
	if before.State != workspace.StateReady && before.State != workspace.StateFailed {
		return fmt.Errorf("repair workspace %s: it is %s, and only a ready or failed one can be repaired: %w", s.label(ctx, before), before.State, workspace.ErrBadRequest)
	}
	w, found, err := s.Workspaces.Repair(ctx, before, repository, dryRun)
	if err != nil {
		return err
	}
	for _, line := range found {
		out.Found = append(out.Found, s.label(ctx, w)+": "+line)
	}
	if w != before && !dryRun {
		err := numbered(before.Name, func(name string) error {
			w.Name = name // in the repository at its new place another may have it
			return s.Store.UpdateWorkspace(ctx, w)
		})
		if err != nil {
			return err
		}
		if w.Name != before.Name {
			out.Found = append(out.Found, "another workspace of the repository has the name "+before.Name+": this one is called "+w.Name)
		}
		fault.Here("repair/row")
		s.publishWorkspace(ctx, w)
	}
	if len(found) > 0 {
		out.Workspaces = append(out.Workspaces, s.workspaceView(ctx, w))
	}
	return nil
}

// repairDeleted finds the moved snapshots of deleted workspaces: those of the
// repository at gitDir if in names a workspace, otherwise all.
func (s *App) repairDeleted(ctx context.Context, in api.Repair, gitDir string, dryRun bool, out *api.Repaired) error {
	list, _, err := s.Store.DeletedWorkspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	for _, d := range list {
		if in.Workspace != "" && d.GitDir != gitDir {
			continue
		}
		kept, err := s.Workspaces.IsKept(ctx, d.Workspace)
		if err == nil && kept {
			continue // it has not moved
		}
		w, err := s.Workspaces.RepairDeleted(ctx, d.Workspace, in.Repository)
		if errors.Is(err, workspace.ErrNoSnapshot) { // its snapshot is in another repository
			w, err = s.Workspaces.RepairDeleted(ctx, d.Workspace, "")
		}
		if err != nil {
			out.Failed = append(out.Failed, workspace.Passed{Path: d.Name, Why: s.Explain(err).Detail})
			continue
		}
		if w == d.Workspace {
			continue
		}
		at := w.Repository
		if w.Mode != workspace.ModeWorktree {
			at = filepath.Dir(w.Root)
		}
		out.Found = append(out.Found, d.Name+": its snapshot is in "+at)
		d.Workspace = w
		if !dryRun {
			if err := s.Store.UpdateDeleted(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}
