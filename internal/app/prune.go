package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/internal/transcripts"
	"middleman/workspace"
)

// surveyor returns a Surveyor with this server's store, backends and records.
func (s *App) surveyor(q api.PruneQuery) Surveyor {
	return Surveyor{
		Store: s.Store, Workspaces: s.Workspaces, Backends: s.Backends, Workers: s.workers.files,
		Age: q.Snapshots, AllRecords: q.Workers,
	}
}

// prune finds leftovers and, unless it is a dry run, removes those that are
// prunable. An error with one does not keep it from the others.
func (s *App) prune(ctx context.Context, q api.PruneQuery) (api.Leftovers, error) {
	// A delete waits for the search of the start, which needs s.tidying too.
	if err := s.awaitLook(ctx); err != nil {
		return api.Leftovers{}, err
	}
	s.tidying.Lock()
	defer s.tidying.Unlock()
	v := s.surveyor(q)
	out := api.Leftovers{DryRun: q.DryRun, Leftovers: []workspace.Leftover{}}
	found, err := v.Survey(ctx)
	if err != nil {
		return out, err
	}
	s.pruneAll(ctx, v, found, &out)
	// A worker that is gone by now may have left a branch that holds nothing.
	if workers := prunedWorkers(out.Leftovers); len(workers) > 0 {
		found, err = v.Survey(ctx)
		if err != nil {
			return out, err
		}
		s.pruneAll(ctx, v, slices.DeleteFunc(found, func(l workspace.Leftover) bool {
			return l.Kind != workspace.LeftoverBranch || !l.Prunable || !workers[l.ID]
		}), &out)
	}
	err = s.pruneEphemeral(ctx, q.DryRun, &out)
	return out, errors.Join(err, ctx.Err())
}

// pruneAll adds the leftovers to out, after it has removed those that are
// prunable, unless out is that of a dry run.
func (s *App) pruneAll(ctx context.Context, v Surveyor, found []workspace.Leftover, out *api.Leftovers) {
	for _, l := range found {
		if l.Prunable && !out.DryRun {
			err := s.pruneOne(ctx, v, l)
			if l.Pruned = err == nil; err != nil {
				l.Error = s.Explain(err).Detail
			}
		}
		l.Why = s.redact(l.Why)
		out.Leftovers = append(out.Leftovers, l)
	}
}

// prunedWorkers returns the ids of the workspaces of workers that were pruned.
func prunedWorkers(list []workspace.Leftover) map[string]bool {
	ids := map[string]bool{}
	for _, l := range list {
		if l.Kind == workspace.LeftoverWorker && l.Pruned {
			ids[l.ID] = true
		}
	}
	return ids
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
	case workspace.LeftoverRecord:
		return s.pruneRecord(ctx, v, l)
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
	private := s.hasQuarantine(d.Workspace)
	if kept, err := s.Workspaces.IsKept(ctx, d.Workspace); private && (err != nil || !kept) {
		// Somebody removed the snapshot, which is no consent to lose this.
		return errors.Join(err, Refusef(api.CodeWorkWouldLose, "what its sandbox held is still in %s: remove that directory if nothing of it is needed", s.Dirs.Quarantine(l.ID)))
	}
	if err := s.Workspaces.Forget(ctx, d.Workspace); err != nil {
		return err
	}
	if private {
		if err := s.quarantine(d.Workspace).Remove(ctx, true); err != nil {
			return err
		}
	}
	if err := s.Store.ForgetDeleted(ctx, l.ID); err != nil {
		return err
	}
	s.publishDeleted(ctx, l.ID)
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

// trimTranscripts removes the transcripts that are beyond the budget. The
// caller must hold no workspace's gate.
func (s *App) trimTranscripts(ctx context.Context) {
	gone, err := s.transcripts.Trim(ctx)
	for _, t := range gone {
		s.Log.Info("transcript removed: the setting transcripts.keep was exceeded", "session", t.ID, "workspace", t.WorkspaceName, "deleted", t.DeletedAt, "bytes", t.Bytes)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("remove transcripts", "error", err)
	}
}

// recount sets what is kept of the transcripts of a deleted workspace, and of
// its workers, once the budget has been applied.
func (s *App) recount(ctx context.Context, d *api.Deleted) {
	if had := d.Transcripts.Sessions + d.Transcripts.Gone; had > 0 {
		list, _, err := s.Store.Transcripts(ctx, d.Workspace.ID, store.Page{Limit: -1})
		if err != nil {
			s.Log.Error("count transcripts", "workspace", d.Workspace.ID, "error", err)
			return
		}
		d.Transcripts = transcripts.Count(list)
		d.Transcripts.Gone = max(0, had-len(list))
	}
	for i := range d.Workers {
		s.recount(ctx, &d.Workers[i])
	}
}

// forgetTranscripts removes the transcripts of deleted workspaces, of all if none
// is named.
func (s *App) forgetTranscripts(ctx context.Context, workspaces []string, dryRun bool) (api.ForgottenTranscripts, error) {
	for _, id := range workspaces {
		if _, err := s.Store.DeletedWorkspace(ctx, id); err == nil {
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return api.ForgottenTranscripts{}, err
		}
		if w, err := s.Store.Workspace(ctx, id); err == nil {
			return api.ForgottenTranscripts{}, Refusef(api.CodeNotDeleted, "workspace %s is not deleted: the transcripts of its sessions stay", s.label(ctx, w))
		}
		return api.ForgottenTranscripts{}, Refusef(api.CodeNotFound, "there is no deleted workspace %s", id)
	}
	list, err := s.transcripts.Forget(ctx, workspaces, dryRun)
	out := api.ForgottenTranscripts{DryRun: dryRun, Transcripts: list}
	for i, t := range list {
		out.Bytes += t.Bytes
		out.Transcripts[i].Error = s.redact(t.Error)
		if !dryRun {
			s.publishDeleted(ctx, t.WorkspaceID)
		}
	}
	return out, err
}

// workers judges the workspaces of workers that have ended.
func (v Surveyor) workers(ctx context.Context, r workspace.Records) []workspace.Leftover {
	var found []workspace.Leftover
	for _, w := range r.Workspaces {
		if l, is := v.worker(ctx, r, w); is {
			found = append(found, l)
		}
	}
	return found
}

// retired returns the workspaces whose workers have ended, by their tombstones:
// the git directories of their repositories by their ids, "" for one that is not
// recorded. A tombstone that cannot be read proves nothing and is ignored.
func (v Surveyor) retired() map[string]string {
	gitDirs, live := map[string]string{}, map[string]bool{}
	list, _ := v.Workers.Read()
	for _, t := range list {
		if t.Isolation == store.IsolationWorktree {
			gitDirs[t.Workspace] = cmp.Or(t.GitDir, gitDirs[t.Workspace])
			live[t.Workspace] = live[t.Workspace] || t.Ended == nil
		}
	}
	maps.DeleteFunc(gitDirs, func(id, _ string) bool { return live[id] })
	return gitDirs
}

// worker judges one worker's workspace. It is prunable if its worker has ended
// and all work in it is on its branch. A prune keeps the branch.
func (v Surveyor) worker(ctx context.Context, r workspace.Records, w workspace.Workspace) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverWorker, What: w.Name, ID: w.ID, Repository: w.Repository}
	_, ended := r.Retired[w.ID]
	if w.ParentSession == "" || w.State != workspace.StateReady || !ended || r.Busy[w.ID] != "" {
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
	if now, is := v.worker(ctx, r, d.workspace); !is || !now.Prunable || len(d.running) > 0 {
		return changed(now)
	}
	before := d.workspace
	if err := s.beginDelete(ctx, &d); err != nil {
		return err
	}
	if _, err := s.destroy(ctx, d, Consent{KeepBranch: true}); err != nil {
		s.setWorkspaceState(ctx, before)
		return err
	}
	s.gone(ctx, l.ID)
	return nil
}

// recordAge is how long the record of a worker stays after its end, once its
// parent is gone. The help of prune names it.
const recordAge = 30 * 24 * time.Hour

// workerRecords judges the records of workers.
func (v Surveyor) workerRecords(ctx context.Context, r workspace.Records) []workspace.Leftover {
	var found []workspace.Leftover
	list, _ := v.Workers.Read() // doctor reports what cannot be read
	for _, t := range list {
		if l, is := v.workerRecord(ctx, r, t); is {
			found = append(found, l)
		}
	}
	return found
}

// workerRecord judges the record of one worker. It may go if the worker has
// ended, neither it nor its parent has a session any more, and no restore can
// bring one of them back.
func (v Surveyor) workerRecord(ctx context.Context, r workspace.Records, t store.Tombstone) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverRecord, What: t.ID, ID: t.Workspace}
	if t.Ended == nil || v.Store == nil || !v.AllRecords && time.Since(*t.Ended) < recordAge {
		return l, false
	}
	for _, d := range r.Deleted {
		if d.ID == t.Workspace || d.ID == t.ParentWorkspace {
			return l, false
		}
	}
	for _, w := range r.Workspaces {
		if w.ID == t.Workspace && t.Isolation == store.IsolationWorktree {
			return l, false
		}
	}
	for _, id := range []string{t.ID, t.Parent} {
		if _, err := v.Store.Session(ctx, id); !errors.Is(err, store.ErrNotFound) {
			return l, false
		}
	}
	l.Prunable = true
	name := cmp.Or(t.Name, t.ID)
	if t.Isolation == store.IsolationWorktree {
		name = cmp.Or(t.WorkspaceName, name)
	}
	l.Why = fmt.Sprintf("worker %s ended %s, and its parent is gone", name, t.Ended.Local().Format(time.DateTime))
	l.Final = "the record of how it ended"
	return l, true
}

// pruneRecord removes the record of a worker, after it has judged it again.
func (s *App) pruneRecord(ctx context.Context, v Surveyor, l workspace.Leftover) error {
	r, err := v.recorded(ctx)
	if err != nil {
		return err
	}
	for _, now := range v.workerRecords(ctx, r) {
		if now.What == l.What {
			return s.workers.remove(l.What)
		}
	}
	return changed(l)
}
