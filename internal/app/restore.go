package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// restoreWorkspace brings a deleted workspace back under its name, with a number
// if another workspace has that name by now.
func (s *App) restoreWorkspace(ctx context.Context, id string) (api.Restored, error) {
	leave := s.gates.block(id)
	defer leave()
	d, err := s.Store.DeletedWorkspace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if w, err := s.Store.Workspace(ctx, id); err == nil {
			return api.Restored{}, Refusef(api.CodeNotDeleted, "workspace %s is not deleted", w.Name)
		}
	}
	if err != nil {
		return api.Restored{}, err
	}
	row, err := s.revive(ctx, d)
	if err != nil {
		return api.Restored{}, err
	}
	notes, err := s.finishRestore(ctx, row, d.Name, d.DeletedAt)
	if err != nil {
		return api.Restored{}, err
	}
	if row.Name != d.Name {
		notes = append([]string{fmt.Sprintf("another workspace has the name %s now: this one is called %s", d.Name, row.Name)}, notes...)
	}
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return api.Restored{}, err
	}
	return api.Restored{Workspace: s.workspaceView(w), Warnings: notes}, nil
}

// revive turns the record of a deleted workspace into a row, so that a restart
// finds it. If two requests revive the same workspace, one of them fails.
func (s *App) revive(ctx context.Context, d store.Deleted) (workspace.Workspace, error) {
	for n := 1; n <= maxSameName; n++ {
		name := d.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d", d.Name, n)
		}
		err := s.Store.ReviveDeleted(ctx, d.ID, name)
		if errors.Is(err, store.ErrNameTaken) {
			continue
		}
		if err != nil {
			return workspace.Workspace{}, err
		}
		row, err := s.Store.Workspace(ctx, d.ID)
		if err == nil {
			s.publishWorkspace(row)
		}
		return row, err
	}
	return workspace.Workspace{}, fmt.Errorf("find a name for workspace %s: %w", d.Name, store.ErrNameTaken)
}

// finishRestore brings back the directory of a row in StateRestoring. If that
// fails, the workspace becomes a deleted one again, with name and deleted as its
// name and time. notes tell what differs from before.
func (s *App) finishRestore(ctx context.Context, row workspace.Workspace, name string, deleted time.Time) (notes []string, err error) {
	var back workspace.Workspace
	err = s.besideParent(row, func() error {
		return s.Guarded("restore workspace "+row.ID, func() error { // the content of a snapshot is not trusted
			back, notes, err = s.Workspaces.Restore(ctx, row, func(stage workspace.Stage) { s.stage(ctx, row.ID, stage) })
			return err
		})
	})
	after := context.WithoutCancel(ctx)
	if err != nil {
		s.Log.Info("workspace was not restored", "workspace", row.Name, "error", err)
		if err := s.Store.KeepDeleted(after, row.ID, name, deleted); err != nil {
			s.Log.Error("keep a workspace as deleted", "workspace", row.ID, "error", err)
		}
		s.Events.Publish(row.ID, api.Event{Type: "workspace-deleted", ID: row.ID})
		return nil, err
	}
	back.Ephemeral = false // the user wants to keep it
	if err := s.Store.UpdateWorkspace(after, back); err != nil {
		return nil, err
	}
	back, note := s.restorePorts(after, back)
	s.publishWorkspace(back)
	return append(notes, note...), nil
}

// resumeRestore goes on with a restore that the previous server did not finish.
func (s *App) resumeRestore(ctx context.Context, row workspace.Workspace) {
	leave := s.gates.block(row.ID)
	defer leave()
	if _, err := s.finishRestore(ctx, row, row.Name, time.Now()); err != nil {
		s.Log.Warn("finish a restore", "workspace", row.Name, "error", err)
	}
}
