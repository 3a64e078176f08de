package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/plaintext"
	"middleman/internal/proc"
	"middleman/internal/repoconfig"
	"middleman/internal/sandbox"
	"middleman/internal/sandbox/life"
	"middleman/internal/setup"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Consent says what a deletion may destroy. Each field stands for itself.
type Consent struct {
	DiscardWork  bool // delete work that cannot be restored
	StopSessions bool // stop running sessions and setups
	KeepBranch   bool // keep the branch, so its commits are not lost; allows nothing else
	SkipTeardown bool // do not run the repository's teardown
	Workers      bool // also delete the workspaces of its workers, with the same consents
	// ForgetTranscripts: do not keep the transcripts of its sessions.
	ForgetTranscripts bool
}

// deletePlan is what a deletion found before it began.
type deletePlan struct {
	workspace workspace.Workspace
	label     string // of the workspace
	loss      workspace.Loss
	unknown   error             // why loss could not be determined, else nil
	rows      []store.Session   // all sessions of the workspace
	running   []api.Session     // sessions that run, may run, or left processes
	inside    []int             // ids of processes in its directory, if no session runs
	quiet     map[string]bool   // the ended sessions without owner and processes, by id
	config    repoconfig.Config // has the teardown to run
}

// deleteWorkspace blocks launches, inspects the workspace while its sessions
// still run, and either refuses with the whole list of reasons or goes on: it
// stops the sessions, inspects again and deletes. A dry run only inspects.
func (s *App) deleteWorkspace(ctx context.Context, id string, c Consent, dryRun bool) (api.Deleted, error) {
	if _, err := s.Store.Workspace(ctx, id); err != nil {
		return api.Deleted{}, err
	}
	if err := s.awaitSessions(ctx); err != nil {
		return api.Deleted{}, err
	}
	if c.StopSessions && !dryRun {
		if err := s.endSetup(ctx, id); err != nil {
			return api.Deleted{}, err
		}
	}
	leave := s.gates.block(id)
	defer leave()
	workers, leaveWorkers, err := s.blockWorkers(ctx, id)
	if err != nil {
		return api.Deleted{}, err
	}
	defer leaveWorkers()
	if len(workers) > 0 {
		return s.deleteWithWorkers(ctx, id, workers, c, dryRun)
	}
	return s.deleteOne(ctx, id, c, dryRun)
}

// deleteOne deletes one workspace. Launches in it must be blocked, and no
// workspace of a worker may be left in it.
func (s *App) deleteOne(ctx context.Context, id string, c Consent, dryRun bool) (api.Deleted, error) {
	d, err := s.inspect(ctx, id)
	if err != nil {
		return api.Deleted{}, err
	}
	// No consent lets a delete remove what has the directory's place, or what cannot be kept,
	// so nothing is stopped.
	if d.unknown != nil && (dryRun || !c.DiscardWork || errors.Is(d.unknown, workspace.ErrReplaced) || errors.Is(d.unknown, workspace.ErrNotKept)) {
		return api.Deleted{}, d.unknown
	}
	out := api.Deleted{Workspace: s.workspaceView(ctx, d.workspace), Lost: d.loss, Stopped: d.running, Warnings: d.loss.Warnings}
	if c.SkipTeardown {
		d.config.Teardown = nil
	}
	out.Teardown = d.config.Teardown
	if dryRun {
		out.Restorable, out.Unkept = d.loss.Restorable, d.loss.Unkept
		if len(d.inside) > 0 {
			out.Warnings = append(out.Warnings, d.tellInside())
		}
		out.Transcripts = s.forecastTranscripts(d.rows, c)
		return out, nil
	}
	if err := d.refusal(c); err != nil {
		return api.Deleted{}, err
	}
	audit.Note(ctx, "name "+d.workspace.Name)
	before := d.workspace
	if err := s.beginDelete(ctx, &d); err != nil {
		return api.Deleted{}, err
	}
	out.Transcripts = s.forecastTranscripts(d.rows, c)
	err = s.Guarded("delete workspace "+id, func() error {
		out.Lost, err = s.destroy(ctx, d, c)
		return err
	})
	if err != nil {
		before.Error = ""
		s.setWorkspaceState(ctx, before)
		return api.Deleted{}, err
	}
	out.Warnings, out.Restorable, out.Unkept = out.Lost.Warnings, out.Lost.Restorable, out.Lost.Unkept
	out.RestoreAs = s.restoreAs(ctx, out.Workspace)
	s.gone(ctx, id)
	return out, nil
}

// restoreAs returns by what a restore finds a deleted workspace: its label, or its id if
// another deleted one has its name.
func (s *App) restoreAs(ctx context.Context, w api.Workspace) string {
	others, err := s.Store.OtherDeleted(ctx, w.ID, w.Name)
	if others || err != nil {
		return w.ID
	}
	return w.Label
}

// beginDelete records that a workspace is being deleted and, if only its
// transcripts may be kept, the commit that a restore makes it from: the delete
// may remove the branch. If that cannot be recorded, as on a full disk, the delete
// must not begin: its end could not be recorded either, and nobody would know that the
// workspace can be restored.
func (s *App) beginDelete(ctx context.Context, d *deletePlan) error {
	d.workspace.State, d.workspace.Error, d.workspace.Tip = workspace.StateDeleting, "", ""
	if len(d.rows) > 0 {
		tip, err := s.Workspaces.Tip(ctx, d.workspace)
		if err != nil {
			s.Log.Info("a restore of this workspace will need a snapshot", "workspace", d.workspace.ID, "error", err)
		}
		d.workspace.Tip = tip
	}
	if err := s.Store.UpdateWorkspace(context.WithoutCancel(ctx), d.workspace); err != nil {
		return err
	}
	s.publishWorkspace(ctx, d.workspace)
	return nil
}

// gone drops all that the App keeps of a deleted workspace, and publishes the
// deletion.
func (s *App) gone(ctx context.Context, id string) {
	if err := setup.RemoveLog(s.Dirs.SetupLog(id)); err != nil {
		s.Log.Warn("remove the output of setup", "workspace", id, "error", err)
	}
	s.gates.forget(id)
	s.statusCache.forget(id)
	s.watcher.Drop(id)
	s.watcher.Drop(watchedGit(id))
	s.brought.forget(id)
	if err := s.maker().ForgetCaches(id); err != nil {
		s.Log.Warn("remove the caches of a workspace's sandboxes", "workspace", id, "error", err)
	}
	s.publishDeleted(ctx, id)
}

// resumeDelete settles a delete whose server was killed. If the delete had not
// yet decided, the workspace is put back as it was; else the delete is finished.
func (s *App) resumeDelete(ctx context.Context, w workspace.Workspace) {
	leave := s.gates.block(w.ID)
	defer leave()
	back, err := s.Workspaces.PutBack(w)
	if err == nil && !back {
		var rows []store.Session
		if rows, _, err = s.Store.Sessions(ctx, w.ID, store.Page{Limit: -1}); err == nil {
			// The killed delete had inspected twice and had all consents.
			_, err = s.destroy(ctx, deletePlan{workspace: w, rows: rows}, Consent{DiscardWork: true, StopSessions: true})
		}
		if err == nil {
			s.Log.Info("completed an interrupted delete", "workspace", w.Name)
			s.gone(ctx, w.ID)
			return
		}
	}
	w.State, w.Error = workspace.StateReady, ""
	if err != nil {
		s.Log.Warn("complete an interrupted delete", "workspace", w.ID, "error", err)
		w.State, w.Error = workspace.StateFailed, "the server ended while it deleted this workspace, and the deletion can be neither undone nor completed: "+s.redact(err.Error())
	}
	s.setWorkspaceState(ctx, w)
}

// inspect collects what a deletion of the workspace meets; it changes nothing.
// If the loss cannot be determined, the reason is in unknown; a deletion is then
// refused without consent to lose work.
func (s *App) inspect(ctx context.Context, id string) (deletePlan, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return deletePlan{}, err
	}
	switch w.State {
	case workspace.StateCreating:
		if s.setups.has(id) {
			return deletePlan{}, Refusef(api.CodeBusy, "the setup of workspace %s still runs: --stop-sessions ends it", s.label(ctx, w))
		}
		return deletePlan{}, Refusef(api.CodeBusy, "workspace %s is still being made", s.label(ctx, w))
	case workspace.StateRestoring:
		return deletePlan{}, Refusef(api.CodeBusy, "workspace %s is still being restored", s.label(ctx, w))
	}
	if s.settingUp.has(id) {
		return deletePlan{}, Refusef(api.CodeBusy, "the setup of workspace %s still runs: --stop-sessions ends it", s.label(ctx, w))
	}
	d := deletePlan{workspace: w, label: s.label(ctx, w)}
	if d.config, err = s.teardownOf(ctx, w); err != nil {
		return deletePlan{}, err
	}
	if _, err := s.bring(ctx, w); err != nil {
		d.unknown = fmt.Errorf("%w: what the sandbox of workspace %s holds: %w", workspace.ErrUnknown, d.label, err)
	}
	if err := contain.Together(
		func() error { d.inspectWork(ctx, s); return nil },
		func() error { return d.inspectSessions(ctx, s) },
	); err != nil {
		return deletePlan{}, err
	}
	if s.ours(w) && len(d.running) == 0 {
		d.inside = proc.Inside(w.Root, looking...)
	}
	return d, nil
}

// inspectWork finds what work would be lost, unless that is known to be unknown.
func (d *deletePlan) inspectWork(ctx context.Context, s *App) {
	if d.unknown != nil || d.workspace.Root == "" {
		return
	}
	var err error
	d.loss, err = s.Workspaces.Inspect(ctx, d.workspace)
	if err != nil && (!errors.Is(err, workspace.ErrMissing) || errors.Is(err, workspace.ErrUnknown) && d.loss.Empty()) {
		d.unknown = asUnknown(err)
	}
}

// inspectSessions finds the sessions, and which of them run or have left processes.
// That looks at every process of the system, which takes as long as git does.
func (d *deletePlan) inspectSessions(ctx context.Context, s *App) error {
	rows, views, err := s.sessionsOf(ctx, d.workspace)
	if err != nil {
		return err
	}
	d.rows, d.quiet = rows, map[string]bool{}
	for i, v := range views {
		if v.State.Ended() {
			var unknown error
			if v.Left, d.quiet[v.ID], unknown = s.left(ctx, rows[i]); unknown != nil {
				v.State, v.Error = terminal.StateUnreachable, s.redact(oneLine(unknown))
			}
		}
		if !v.State.Ended() || len(v.Left) > 0 {
			d.running = append(d.running, v)
		}
	}
	return nil
}

// looking are the programs by which the server itself looks into a workspace, for
// a list: in git's sandbox or not. They keep no delete from it.
var looking = []string{"git", "bwrap"}

// asUnknown wraps an error of an inspection in workspace.ErrUnknown, unless it is
// an error that a client knows already.
func asUnknown(err error) error {
	if errors.Is(err, workspace.ErrUnknown) || errors.Is(err, workspace.ErrEscapes) || errors.Is(err, workspace.ErrUnsafeBase) ||
		errors.Is(err, workspace.ErrNotKept) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", workspace.ErrUnknown, err)
}

// left returns the processes that outlive an ended session's program, none if
// the session does not answer: its end was proved before it was recorded. quiet
// means that none was found, and that its owner has ended too. The error is a
// *terminal.LeftoverError: something in its sandbox lives that is not found.
func (s *App) left(ctx context.Context, row store.Session) (left []int, quiet bool, err error) {
	_, _ = s.outlived(row) // a sandbox that is about to end counts as ended
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, err := s.status(ctx, row)
	if err != nil {
		if unknown, ok := errors.AsType[*terminal.LeftoverError](err); ok {
			return nil, false, unknown
		}
		return nil, false, nil
	}
	return status.Left, status.Source == terminal.SourceDisk && len(status.Left) == 0, nil
}

// outlived reports whether something in the sandbox of an ended session lives, as far as
// that is bubblewrap's. No process is looked for.
func (s *App) outlived(row store.Session) (bool, error) {
	if row.Sandbox == nil || row.Sandbox.Method != sandbox.Bubblewrap {
		return false, nil
	}
	return life.Outlives(s.stateDir(row.ID))
}

// ours reports whether deleting w would delete a directory.
func (s *App) ours(w workspace.Workspace) bool {
	return w.Mode != workspace.ModeInPlace && w.Root != ""
}

// refusal returns a *Refusal with everything that c does not cover, or nil.
func (d deletePlan) refusal(c Consent) error {
	work := !c.DiscardWork && !d.loss.Empty()
	busy := !c.StopSessions && len(d.running) > 0
	var p *Refusal
	switch {
	case !work && !busy && !c.StopSessions && len(d.inside) > 0:
		return Refusef(api.CodeBusy, "%s", d.tellInside())
	case work && busy:
		p = Refusef(api.CodeWorkWouldLose, "workspace %s has running sessions and work that would be lost: %s",
			d.label, d.loss.Summary())
	case work:
		p = Refusef(api.CodeWorkWouldLose, "workspace %s has work that would be lost: %s",
			d.label, d.loss.Summary())
	case busy:
		p = Refusef(api.CodeSessionsRun, "workspace %s has running sessions", d.label)
	default:
		return nil
	}
	if work {
		p.Lost = &d.loss
	}
	if busy {
		p.Sessions = d.running
	}
	return p
}

// tellInside says which processes are in the directory, and what to do about them.
func (d deletePlan) tellInside() string {
	return fmt.Sprintf("these processes are in the directory of workspace %s, and of no session: %s: end them first, or use --stop-sessions, which deletes the workspace although they run in it",
		d.label, plaintext.Quoted(proc.Named(d.inside)))
}

// destroy runs the teardown, stops the sessions, deletes the directory and then
// the records. Package workspace inspects once more before it deletes, because a
// program may have written until it was stopped.
func (s *App) destroy(ctx context.Context, d deletePlan, c Consent) (lost workspace.Loss, err error) {
	if err := s.tearDown(ctx, d.workspace, d.config); err != nil {
		return workspace.Loss{}, err
	}
	for _, row := range d.rows {
		if row.State.Ended() {
			if d.quiet[row.ID] {
				if _, quiet, _ := s.left(ctx, row); quiet {
					continue // two looks have found nothing, as those of a stop have to
				}
			}
			if err := s.stopLeft(ctx, row); err != nil && row.Sandbox != nil {
				return workspace.Loss{}, &sessionError{row.Name, err}
			}
		} else if err := s.stopSession(ctx, row, 0); err != nil {
			return workspace.Loss{}, &sessionError{row.Name, err}
		}
	}
	out, err := s.bring(ctx, d.workspace)
	if err != nil && !c.DiscardWork {
		return workspace.Loss{}, asUnknown(err)
	}
	if err == nil && !out.Complete() {
		err = errors.New(notBrought(out))
	}
	unknown := err
	if lost, err = s.destroyDirectory(ctx, d.workspace, c); err != nil {
		return workspace.Loss{}, err
	}
	fault.Here("delete/sandbox")
	if warning := s.dropQuarantine(ctx, d.workspace, unknown, lost); warning != "" {
		lost.Warnings = append(lost.Warnings, warning)
	}
	fault.Here("delete/directory")
	return lost, s.recordDeleted(ctx, d, lost, c)
}

// forecastTranscripts counts the transcripts that a delete keeps.
func (s *App) forecastTranscripts(rows []store.Session, c Consent) api.TranscriptCount {
	count := s.transcripts.Forecast(rows)
	if c.ForgetTranscripts {
		count = api.TranscriptCount{Gone: count.Sessions + count.Gone}
	}
	return count
}

// recordDeleted turns the records of a workspace into those of a deleted one, in
// one transaction: until then its sessions are as they were. Their state
// directories stay, unless c or the settings keep no transcripts. If there is
// neither a transcript nor a snapshot, no record is kept.
func (s *App) recordDeleted(ctx context.Context, d deletePlan, lost workspace.Loss, c Consent) error {
	var kept map[string]int64
	if !c.ForgetTranscripts && s.KeepTranscripts != 0 {
		kept = s.transcripts.Measure(d.rows)
	}
	for _, row := range d.rows {
		if _, keep := kept[row.ID]; keep {
			continue
		}
		if err := s.removeSession(ctx, row); err != nil {
			return err
		}
	}
	fault.Here("delete/unrecorded")
	w := d.workspace
	if w.RestoreFrom = s.restoreSource(w, lost); w.RestoreFrom != workspace.FromTip {
		w.Tip = ""
	}
	if len(kept) == 0 && w.RestoreFrom != workspace.FromSnapshot {
		return s.Store.DeleteWorkspace(ctx, w.ID)
	}
	for id := range kept {
		s.cleanUp(id)
	}
	return s.Store.KeepDeleted(ctx, store.Deleted{Workspace: w, DeletedAt: time.Now().UTC()}, kept)
}

// restoreSource returns what a restore can make a deleted workspace from.
func (s *App) restoreSource(w workspace.Workspace, lost workspace.Loss) workspace.RestoreSource {
	switch {
	case lost.Restorable:
		return workspace.FromSnapshot
	case w.Root == "" || !lost.Empty() || w.Mode == workspace.ModeWorktree && w.Tip == "":
		return workspace.FromNothing
	}
	return workspace.FromTip
}

// destroyDirectory deletes the directory of a workspace, or what a failed
// creation left of it.
func (s *App) destroyDirectory(ctx context.Context, w workspace.Workspace, c Consent) (workspace.Loss, error) {
	report := func(stage workspace.Stage) { s.stage(ctx, w.ID, stage) }
	switch {
	case s.ours(w) && c.KeepBranch:
		return s.Workspaces.Retire(ctx, w, report)
	case s.ours(w) || w.Mode == workspace.ModeInPlace:
		return s.Workspaces.DeleteInspected(ctx, w, c.DiscardWork, report)
	}
	w, err := s.intended(ctx, w)
	if err != nil {
		return workspace.Loss{}, err
	}
	return workspace.Loss{}, s.Workspaces.Undo(ctx, w, c.DiscardWork)
}

// waitCreated returns the workspace once it is neither being made nor restored,
// or after limit.
func (s *App) waitCreated(ctx context.Context, id string, limit time.Duration) (workspace.Workspace, error) {
	timeout := time.After(limit)
	for {
		_, _, _, changed := s.Events.After(s.Events.Now())
		w, err := s.Store.Workspace(ctx, id)
		if err != nil || w.State != workspace.StateCreating && w.State != workspace.StateRestoring {
			return w, err
		}
		select {
		case <-changed:
		case <-timeout:
			return w, nil
		case <-ctx.Done():
			return w, ctx.Err()
		}
	}
}
