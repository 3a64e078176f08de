package app

import (
	"context"
	"errors"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// retryWorkspace tries a creation that failed again, from where it failed, and
// returns its row while that goes on.
func (s *App) retryWorkspace(ctx context.Context, id string) (workspace.Workspace, error) {
	leave := s.gates.block(id)
	defer leave()
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return w, err
	}
	c, err := s.failedCreation(ctx, w)
	if err != nil {
		return w, err
	}
	if !placed(w) {
		if err := s.Workspaces.Undo(ctx, w, false); err != nil {
			return w, err
		}
	}
	c.row.State, c.row.Error = workspace.StateCreating, ""
	s.setWorkspaceState(ctx, c.row)
	again := func(ctx context.Context) {
		if !placed(c.row) {
			row, err := s.place(ctx, c)
			if err != nil {
				s.failCreation(ctx, c.row, err)
				return
			}
			c.row = row
		}
		s.finishCreation(ctx, c)
	}
	if !s.further(ctx, c.row, again) {
		s.setWorkspaceState(ctx, w)
		return w, ErrStopping
	}
	return s.Store.Workspace(ctx, id)
}

// failedCreation is what was asked for of w, where its creation has failed.
func (s *App) failedCreation(ctx context.Context, w workspace.Workspace) (creation, error) {
	refuse := func(code, why string) (creation, error) {
		return creation{}, Refusef(code, "workspace %s %s", w.Name, why)
	}
	switch {
	case w.State == workspace.StateCreating, w.State == workspace.StateRestoring, w.State == workspace.StateDeleting:
		return refuse(api.CodeBusy, "is "+string(w.State)+" at the moment")
	case w.State != workspace.StateFailed:
		return refuse(api.CodeNotFailed, "is "+string(w.State)+": there is nothing to try again")
	case w.Parent != "":
		return refuse(api.CodeNotFailed, "is a worker's: its session can spawn another, `middleman rm` removes this one")
	}
	if _, err := s.Store.Creation(ctx, w.ID); errors.Is(err, store.ErrNotFound) {
		return refuse(api.CodeNotFailed, "was made, what failed came later: "+s.redact(w.Error))
	}
	return s.creation(ctx, w)
}

// cutShort ends the stages that the server before did not end.
func (s *App) cutShort(ctx context.Context, workspaceID string) {
	list, err := s.Store.Stages(ctx, workspaceID)
	if err != nil || len(list) == 0 {
		return
	}
	if last := list[len(list)-1]; last.State == "running" {
		s.stage(ctx, workspaceID, workspace.Stage{Name: last.Name, State: "failed", Detail: "the server ended", Time: time.Now().UTC()})
	}
}
