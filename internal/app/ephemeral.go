package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"middleman/internal/api"
	"middleman/internal/lease"
	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/internal/store"
	"middleman/workspace"
)

// youngest is the least age at which an ephemeral workspace is pruned: the
// command that made a younger one may be about to take its lease.
const youngest = time.Minute

// dispose is deleteWorkspace, but refuses an ephemeral workspace while a program
// holds its lease. If the delete is refused because of work or workers in it, the
// workspace becomes an ordinary one: then only its user deletes it.
func (s *App) dispose(ctx context.Context, id string, c Consent, dryRun bool) (api.Deleted, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return api.Deleted{}, err
	}
	if !w.Ephemeral || dryRun {
		return s.deleteWorkspace(ctx, id, c, dryRun)
	}
	held, err := lease.Take(s.Dirs.Leases(), id)
	if errors.Is(err, private.ErrHeld) {
		return api.Deleted{}, Refusef(api.CodeBusy,
			"workspace %s is in use by its command, or by a process that its command has started: end that first", w.Name)
	}
	if err != nil {
		return api.Deleted{}, err
	}
	out, err := s.deleteWorkspace(ctx, id, c, false)
	if err == nil {
		return out, held.Remove()
	}
	if p, ok := errors.AsType[*Refusal](err); ok && (p.Code == api.CodeWorkWouldLose || p.Code == api.CodeHasWorkers) {
		s.adopted(ctx, id)
		return out, errors.Join(err, held.Remove())
	}
	return out, errors.Join(err, held.Close())
}

// adopted makes an ephemeral workspace an ordinary one.
func (s *App) adopted(ctx context.Context, id string) {
	w, err := s.Store.Workspace(ctx, id)
	if err == nil {
		w.Ephemeral = false
		err = s.Store.UpdateWorkspace(context.WithoutCancel(ctx), w)
	}
	if err != nil {
		s.Log.Error("keep an ephemeral workspace", "workspace", id, "error", err)
		return
	}
	s.publishWorkspace(ctx, w)
}

// ephemeralLeft returns the ephemeral workspaces whose lease is free, because
// the middleman that made them was killed before it could delete them.
func (s *App) ephemeralLeft(ctx context.Context) ([]workspace.Leftover, error) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	var left []workspace.Leftover
	for _, w := range list {
		if !w.Ephemeral || w.State != workspace.StateReady || time.Since(w.CreatedAt) < youngest {
			continue
		}
		held, err := lease.Take(s.Dirs.Leases(), w.ID)
		if errors.Is(err, private.ErrHeld) {
			continue
		}
		l := workspace.Leftover{Kind: workspace.LeftoverEphemeral, What: w.Name, ID: w.ID, Repository: w.Repository}
		if err == nil {
			err = held.Close()
		}
		left = append(left, s.judgeEphemeral(ctx, w, l, err))
	}
	return left, nil
}

// judgeEphemeral judges whether an ephemeral workspace is prunable. err is the
// error of taking its lease: nil means that no process holds it.
func (s *App) judgeEphemeral(ctx context.Context, w workspace.Workspace, l workspace.Leftover, err error) workspace.Leftover {
	var sessions []api.Session
	if err == nil {
		l.Lost, err = s.Workspaces.Inspect(ctx, w)
	}
	if err == nil {
		_, sessions, err = s.sessionsOf(ctx, w)
	}
	busy := slices.ContainsFunc(sessions, func(v api.Session) bool { return !v.State.Ended() })
	switch pids := proc.Inside(w.Root, looking...); {
	case err != nil:
		l.Why = err.Error()
	case !l.Lost.Empty():
		l.Why, l.Hint = "its command has ended, and it holds "+l.Lost.Summary(), "middleman rm "+s.label(ctx, w)
	case busy:
		l.Why = "a session runs in it"
	case len(pids) > 0:
		l.Why = fmt.Sprintf("processes %v are in its directory", pids)
	default:
		l.Prunable, l.Why = true, "its command has ended, and it holds no work"
	}
	return l
}

// pruneEphemeral adds the ephemeral leftovers to out and, unless it is a dry run,
// removes those that are prunable.
func (s *App) pruneEphemeral(ctx context.Context, dryRun bool, out *api.Leftovers) error {
	left, err := s.ephemeralLeft(ctx)
	for _, l := range left {
		if l.Prunable && !dryRun {
			_, err := s.dispose(ctx, l.ID, Consent{}, false)
			if l.Pruned = err == nil; err != nil {
				l.Error = s.Explain(err).Detail
			}
		}
		l.Why = s.redact(l.Why)
		out.Leftovers = append(out.Leftovers, l)
	}
	return err
}

// sweep is pruneEphemeral at the start of a server. Workspaces with work in them
// become ordinary ones.
func (s *App) sweep(ctx context.Context) {
	var out api.Leftovers
	if err := s.pruneEphemeral(ctx, false, &out); err != nil && ctx.Err() == nil {
		s.Log.Warn("look for ephemeral workspaces", "error", err)
	}
	for _, l := range out.Leftovers {
		if !l.Lost.Empty() {
			s.adopted(ctx, l.ID)
		}
		s.Log.Info("ephemeral workspace without its middleman", "workspace", l.What, "deleted", l.Pruned, "why", l.Why, "error", l.Error)
	}
}
