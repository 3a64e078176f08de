package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/store"
	"middleman/workspace"
)

// Repairer finds moved workspaces and repositories. *workspace.Manager
// implements it.
type Repairer interface {
	Repair(ctx context.Context, w workspace.Workspace, repository string, dryRun bool) (workspace.Workspace, []string, error)
	RepairDeleted(ctx context.Context, w workspace.Workspace, repository string) (workspace.Workspace, error)
}

// trouble describes what of a ready workspace is missing or moved, or returns
// "". It ignores an error: an operation that needs the directory will report it.
func trouble(f Finder, w workspace.Workspace) string {
	if w.State != workspace.StateReady {
		return ""
	}
	where, err := f.Where(w)
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
		if errors.Is(err, workspace.ErrMoved) && here != "" && s.repairOne(ctx, w.ID, here, dryRun, &out) == nil {
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
		out.Found = append(out.Found, d.Name+": its snapshot is in "+w.Repository)
		d.Workspace = w
		if !dryRun {
			if err := s.Store.UpdateDeleted(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}
