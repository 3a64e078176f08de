package app

import (
	"context"
	"fmt"
	"slices"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

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

// endedWorkers are the ids of the workspaces whose workers are proved to have
// ended. A record that cannot be read proves nothing.
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

// worker judges one workspace: it may go where its worker has ended, and all
// that it holds is on its branch. The branch stays.
func (v Surveyor) worker(ctx context.Context, r workspace.Records, w workspace.Workspace, ended map[string]bool) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverWorker, What: w.Name, ID: w.ID, Repository: w.Repository}
	if w.ParentSession == "" || w.State != workspace.StateReady || !ended[w.ID] || r.Busy[w.ID] != "" {
		return l, false
	}
	if where, err := v.Workspaces.Where(w); err != nil || !where.Sound() {
		return l, false // another kind, which says why
	}
	i := slices.IndexFunc(r.Workspaces, func(other workspace.Workspace) bool { return other.Parent == w.ID })
	if i >= 0 {
		l.Why = fmt.Sprintf("its worker has ended, and worker %s has its workspace in it", r.Workspaces[i].Name)
		return l, true
	}
	lost, err := v.Workspaces.InspectRetired(ctx, w)
	l.Lost = lost
	switch {
	case err != nil:
		l.Why = "its worker has ended; " + err.Error()
	case !lost.Empty():
		l.Why, l.Hint = "its worker has ended, and it holds what is on no branch: "+lost.Summary(), "middleman rm "+w.Name
	default:
		l.Prunable = true
		l.Why = fmt.Sprintf("its worker has ended, and what it did is on branch %s, which stays", w.Branch)
	}
	return l, true
}

// pruneWorker deletes the workspace of a worker, by what is true now, but for
// its branch.
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
