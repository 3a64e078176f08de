package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// surveyor returns a Surveyor with this server's store, backends and records.
func (s *App) surveyor(age time.Duration) Surveyor {
	return Surveyor{Store: s.Store, Workspaces: s.Workspaces, Backends: s.Backends, Workers: s.workers.files, Age: age}
}

// prune finds leftovers and, unless it is a dry run, removes those that are
// prunable. An error with one does not keep it from the others.
func (s *App) prune(ctx context.Context, age time.Duration, dryRun bool) (api.Leftovers, error) {
	s.tidying.Lock()
	defer s.tidying.Unlock()
	v := s.surveyor(age)
	found, err := v.Survey(ctx)
	if err != nil {
		return api.Leftovers{}, err
	}
	out := api.Leftovers{DryRun: dryRun, Leftovers: []workspace.Leftover{}}
	for _, l := range found {
		if l.Prunable && !dryRun {
			err := s.pruneOne(ctx, v, l)
			if l.Pruned = err == nil; err != nil {
				l.Error = s.Explain(err).Detail
			}
		}
		l.Why = s.redact(l.Why)
		out.Leftovers = append(out.Leftovers, l)
	}
	err = s.pruneEphemeral(ctx, dryRun, &out)
	return out, errors.Join(err, ctx.Err())
}

// pruneOne removes a leftover, after it has judged it again.
func (s *App) pruneOne(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	switch l.Kind {
	case workspace.LeftoverMissing, workspace.LeftoverFailed:
		return s.pruneRow(ctx, v, l)
	case workspace.LeftoverDeleted:
		return s.pruneDeleted(ctx, v, l)
	case workspace.LeftoverWorker:
		return s.pruneWorker(ctx, v, l)
	case workspace.LeftoverSession:
		return s.pruneSession(ctx, v, l)
	}
	leave := s.gates.block(l.ID)
	defer leave()
	w, loss, err := s.Workspaces.Prune(ctx, l, v.recorded)
	if err != nil || !loss.Restorable {
		return err
	}
	return s.Store.AddDeleted(ctx, store.Deleted{Workspace: w, DeletedAt: time.Now().UTC()})
}

// changed returns the error for a leftover that is no longer prunable.
func changed(l workspace.Leftover) error {
	return fmt.Errorf("prune %s: %s: %w", l.What, l.Why, workspace.ErrNotLeft)
}

// pruneRow deletes a recorded workspace in the ordinary way, without any consent.
func (s *App) pruneRow(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	r, err := v.recorded(ctx)
	if err != nil {
		return err
	}
	w, err := s.Store.Workspace(ctx, l.ID)
	if err != nil {
		return err
	}
	if now, is := v.row(ctx, r, w); !is || now.Kind != l.Kind || !now.Prunable {
		return changed(now)
	}
	_, err = s.deleteWorkspace(ctx, l.ID, Consent{}, false)
	return err
}

// pruneDeleted removes the snapshot of a deleted workspace, then its row. In the
// other order, a crash in between would leave a snapshot without a row.
func (s *App) pruneDeleted(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	leave := s.gates.block(l.ID)
	defer leave()
	d, err := s.Store.DeletedWorkspace(ctx, l.ID)
	if err != nil {
		return err
	}
	if now, is := v.deletedOne(ctx, d); !is || !now.Prunable {
		return changed(now)
	}
	if err := s.Workspaces.Forget(ctx, d.Workspace); err != nil {
		return err
	}
	if err := s.Store.ForgetDeleted(ctx, l.ID); err != nil {
		return err
	}
	s.Events.Publish(l.ID, api.Event{Type: "workspace-deleted", ID: l.ID})
	return nil
}

// pruneSession removes the state of an ended session that has no row.
func (s *App) pruneSession(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	if _, err := s.Store.Session(ctx, l.What); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(changed(l), err)
	}
	r, strays, err := v.records(ctx)
	if err != nil {
		return err
	}
	for _, x := range strays {
		if x.id != l.What {
			continue
		}
		if now, is := v.session(r, x); !is || !now.Prunable {
			return changed(now)
		}
		return x.backend.Session(x.id).Remove(ctx)
	}
	return changed(l)
}

// workers judges the workspaces of workers that have ended.
func (v Surveyor) workers(ctx context.Context, r workspace.Records) []workspace.Leftover {
	var found []workspace.Leftover
	ended := v.endedWorkers()
	for _, w := range r.Workspaces {
		if l, is := v.worker(ctx, r, w, ended); is {
			found = append(found, l)
		}
	}
	return found
}

// endedWorkers returns the ids of workspaces whose workers have ended, by their
// tombstones. One that cannot be read proves nothing and is ignored.
func (v Surveyor) endedWorkers() map[string]bool {
	ended := map[string]bool{}
	list, _ := v.Workers.Read()
	for _, t := range list {
		if t.Isolation == store.IsolationWorktree {
			before, seen := ended[t.Workspace]
			ended[t.Workspace] = t.Ended != nil && (before || !seen)
		}
	}
	return ended
}

// worker judges one worker's workspace. It is prunable if its worker has ended
// and all work in it is on its branch. A prune keeps the branch.
func (v Surveyor) worker(ctx context.Context, r workspace.Records, w workspace.Workspace, ended map[string]bool) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverWorker, What: w.Name, ID: w.ID, Repository: w.Repository}
	if w.ParentSession == "" || w.State != workspace.StateReady || !ended[w.ID] || r.Busy[w.ID] != "" {
		return l, false
	}
	if where, err := v.Workspaces.Where(w); err != nil || !where.Sound() {
		return l, false // it is a leftover of another kind; row judges it
	}
	i := slices.IndexFunc(r.Workspaces, func(other workspace.Workspace) bool { return other.Parent == w.ID })
	if i >= 0 {
		l.Why = fmt.Sprintf("its worker has ended, but the workspace of worker %s is inside it", r.Workspaces[i].Name)
		return l, true
	}
	lost, err := v.Workspaces.InspectRetired(ctx, w)
	l.Lost = lost
	switch {
	case err != nil:
		l.Why = "its worker has ended; " + err.Error()
	case !lost.Empty():
		l.Why, l.Hint = "its worker has ended, but it holds work that is on no branch: "+lost.Summary(), "middleman rm "+w.Name
	default:
		l.Prunable = true
		l.Why = fmt.Sprintf("its worker has ended, and the work is on branch %s, which stays", w.Branch)
	}
	return l, true
}

// pruneWorker deletes the workspace of a worker but not its branch, after it has
// judged it again.
func (s *App) pruneWorker(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	leave := s.gates.block(l.ID)
	defer leave()
	r, err := v.recorded(ctx)
	if err != nil {
		return err
	}
	d, err := s.inspect(ctx, l.ID)
	if err != nil {
		return err
	}
	if now, is := v.worker(ctx, r, d.workspace, v.endedWorkers()); !is || !now.Prunable || len(d.running) > 0 {
		return changed(now)
	}
	before := d.workspace
	d.workspace.State, d.workspace.Error = workspace.StateDeleting, ""
	s.setWorkspaceState(ctx, d.workspace)
	if _, err := s.destroy(ctx, d, Consent{KeepBranch: true}); err != nil {
		s.setWorkspaceState(ctx, before)
		return err
	}
	s.gates.forget(l.ID)
	s.Events.Publish(l.ID, api.Event{Type: "workspace-deleted", ID: l.ID})
	return nil
}
