package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"middleman/internal/api"
	"middleman/internal/lease"
	"middleman/internal/store"
	"middleman/workspace"
)

// youngest is the age below which an ephemeral workspace is not swept: who
// asked for it may be about to take its lease.
const youngest = time.Minute

// dispose is deleteWorkspace, which an ephemeral workspace is spared while a
// program uses it. One that is refused because it holds work is an ordinary
// workspace from then on: nobody but its user deletes it.
func (s *Server) dispose(ctx context.Context, id string, c consent, dryRun bool) (api.Deleted, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return api.Deleted{}, err
	}
	if !w.Ephemeral || dryRun {
		return s.deleteWorkspace(ctx, id, c, dryRun)
	}
	held, err := lease.Take(s.Dirs.Leases(), id)
	if errors.Is(err, lease.ErrHeld) {
		return api.Deleted{}, problemf(http.StatusConflict, codeBusy,
			"workspace %s is in use by the command that it was made for, or by what that has started: end it first", w.Name)
	}
	if err != nil {
		return api.Deleted{}, err
	}
	if pids := inside(w.Root); len(pids) > 0 && !c.stopSessions {
		return api.Deleted{}, errors.Join(problemf(http.StatusConflict, codeBusy,
			"processes %v are in the directory of workspace %s: end them first, or --stop-sessions deletes it under them", pids, w.Name), held.Close())
	}
	out, err := s.deleteWorkspace(ctx, id, c, false)
	if err == nil {
		return out, held.Remove()
	}
	if p, ok := errors.AsType[*Problem](err); ok && p.Code == api.CodeWorkWouldLose {
		s.adopted(ctx, id)
		return out, errors.Join(err, held.Remove())
	}
	return out, errors.Join(err, held.Close())
}

// adopted makes an ephemeral workspace an ordinary one.
func (s *Server) adopted(ctx context.Context, id string) {
	w, err := s.Store.Workspace(ctx, id)
	if err == nil {
		w.Ephemeral = false
		err = s.Store.UpdateWorkspace(context.WithoutCancel(ctx), w)
	}
	if err != nil {
		s.Log.Error("keep an ephemeral workspace", "workspace", id, "error", err)
		return
	}
	s.publishWorkspace(w)
}

// sweep deletes the ephemeral workspaces whose middleman was killed before it
// could, where their programs have ended and nothing would be lost.
func (s *Server) sweep(ctx context.Context) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		s.Log.Warn("look for ephemeral workspaces", "error", err)
		return
	}
	for _, w := range list {
		if !w.Ephemeral || w.State != workspace.StateReady && w.State != workspace.StateFailed || time.Since(w.CreatedAt) < youngest {
			continue
		}
		_, err := s.dispose(ctx, w.ID, consent{}, false)
		if ctx.Err() != nil {
			return
		}
		s.Log.Info("ephemeral workspace without its middleman", "workspace", w.Name, "deleted", err == nil, "why not", err)
	}
}
