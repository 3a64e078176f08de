package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/fault"
	"middleman/internal/names"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

const (
	// statusTimeout is how long a view waits for one session's status.
	statusTimeout = 2 * time.Second
	// maxAsked is how many sessions are asked at the same time.
	maxAsked = 32
)

// sessionView returns a session in the form for clients. The data comes from
// the backend while the program may run, and from the store once its end is
// recorded or if the backend does not answer.
func (s *App) sessionView(ctx context.Context, row store.Session, workspaceName string) api.Session {
	v := s.askedView(ctx, row, workspaceName)
	v.Attention = attention.Of(v)
	return v
}

// askedView is sessionView without what depends on the rest of it.
func (s *App) askedView(ctx context.Context, row store.Session, workspaceName string) api.Session {
	v := s.recordedView(ctx, row, workspaceName)
	switch {
	case row.State.Ended():
		s.addLeft(ctx, &v, row)
		return v
	case row.State == terminal.StateStarting && !s.monitors.has(row.ID):
		return v // launch is at it: there may be no owner to ask yet
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, err := s.status(ctx, row)
	v.Agent = s.agentNow(row.ID) // it may have changed while the session was asked
	switch {
	case err == nil:
		s.fill(&v, status)
	case provesEnd(err) && row.State != terminal.StateStarting:
		v.State = terminal.StateLost
	case !provesEnd(err):
		v.State, v.Error = terminal.StateUnreachable, "the session"+noAnswer
		if v.Agent != nil {
			v.Agent = &agent.Status{State: agent.Unknown, Reason: v.Error}
		}
	}
	return v
}

// addLeft adds the processes that an ended session has left, if anything tells at once
// that there may be some.
func (s *App) addLeft(ctx context.Context, v *api.Session, row store.Session) {
	lives, err := s.outlived(row)
	if !lives && err == nil {
		lives, err = s.lingers(row)
	}
	if lives {
		v.Left, _, err = s.left(ctx, row)
	}
	if err != nil {
		v.Error = s.redact(oneLine(err))
	}
}

// lingers reports whether processes of an ended session may be left, see
// terminal.Lingers.
func (s *App) lingers(row store.Session) (bool, error) {
	b, err := s.backend(row)
	if err != nil {
		return false, nil // a backend that this version does not have
	}
	return terminal.Lingers(b.Session(row.ID))
}

// stateDir returns the state directory of a session.
func (s *App) stateDir(id string) string { return filepath.Join(s.Dirs.Sessions(), id) }

// recordedView returns a session as the store has it, with what is known of its
// program. No session is asked.
func (s *App) recordedView(ctx context.Context, row store.Session, workspaceName string) api.Session {
	v := RecordedSession(row, workspaceName)
	v.Bundle = s.Bundles.Session(ctx, row.Bundle, false)
	if !row.State.Ended() {
		v.Agent = s.agentNow(row.ID)
	}
	v.Attention = attention.Of(v)
	return v
}

// RecordedSession returns a session as the store has it. workspaceName is the label of
// its workspace. No session is asked.
func RecordedSession(row store.Session, workspaceName string) api.Session {
	v := api.Session{
		ID:            row.ID,
		Name:          row.Name,
		WorkspaceID:   row.WorkspaceID,
		WorkspaceName: workspaceName,
		Backend:       row.Backend,
		State:         row.State,
		Argv:          row.Argv,
		Exit:          row.Exit,
		Error:         row.Error,
		CreatedAt:     row.CreatedAt,
		Parent:        row.Parent,
		Profile:       row.Profile,
		Conversation:  row.Conversation,
		Settled:       row.Settled,
		Sandbox:       row.Sandbox,
		Source:        "store",
		AsOf:          time.Now().UTC(),
	}
	if row.Exit != nil {
		v.Offset, v.Size, v.Title, v.AsOf = row.Exit.Offset, row.Exit.Size, row.Exit.Title, row.Exit.Time
	}
	if row.Bundle != nil {
		v.Bundle = &api.SessionBundle{Launched: *row.Bundle}
	}
	if row.Profile != "" && row.State.Ended() {
		v.Agent = endedAgent(row)
	}
	v.Attention = attention.Of(v)
	return v
}

// transcriptView returns a session of a deleted workspace as the store has it.
func (s *App) transcriptView(ctx context.Context, t store.Transcript) api.Session {
	v := RecordedSession(t.Session, s.deletedLabels(ctx)[t.WorkspaceID])
	v.DeletedAt = &t.DeletedAt
	v.Attention = attention.Of(v)
	return v
}

// status asks a session: over the connection of its monitor, if it has one.
func (s *App) status(ctx context.Context, row store.Session) (terminal.Status, error) {
	b, err := s.backend(row)
	if err != nil {
		return terminal.Status{}, err
	}
	var status terminal.Status
	err = s.Guarded("ask session "+row.ID, func() (err error) {
		if a, ok := s.monitors.attachment(row.ID).(terminal.AskingAttachment); ok {
			if status, err = a.Status(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		}
		status, err = b.Session(row.ID).Status(ctx)
		return err
	})
	return status, err
}

// fill copies the backend's status into v.
func (s *App) fill(v *api.Session, status terminal.Status) {
	v.SetStatus(status)
	v.Error = s.redact(v.Error)
	if s.monitors.attachment(v.ID) != nil {
		v.Watchers = max(0, v.Watchers-1) // the server's own monitor does not count
	}
}

// sessionViews returns the views of all rows. It asks up to maxAsked sessions at
// the same time.
func (s *App) sessionViews(ctx context.Context, rows []store.Session, names map[string]string) []api.Session {
	views := make([]api.Session, len(rows))
	slots := make(chan struct{}, maxAsked)
	var wg sync.WaitGroup
	for i, row := range rows {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			views[i] = RecordedSession(row, names[row.WorkspaceID])
			s.contain("view of session "+row.ID, func() {
				fault.Here("view/session")
				views[i] = s.sessionView(ctx, row, names[row.WorkspaceID])
			}, nil)
		})
	}
	wg.Wait()
	return views
}

// sessionsOf returns all sessions of a workspace: the rows, and their views in
// the same order.
func (s *App) sessionsOf(ctx context.Context, w workspace.Workspace) ([]store.Session, []api.Session, error) {
	rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: -1})
	if err != nil {
		return nil, nil, err
	}
	return rows, s.sessionViews(ctx, rows, map[string]string{w.ID: s.label(ctx, w)}), nil
}

// workspaceName returns a workspace's label, or "" if it was deleted.
func (s *App) workspaceName(ctx context.Context, id string) string {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return ""
	}
	return s.label(ctx, w)
}

func (s *App) workspaceView(ctx context.Context, w workspace.Workspace) api.Workspace {
	return s.viewAmong(s.named(ctx), w)
}

// RecordedWorkspace returns a workspace as the store has it, without what depends on
// other workspaces: its label, and the name of its repository.
func RecordedWorkspace(w workspace.Workspace) api.Workspace {
	v := api.Workspace{
		ID:         w.ID,
		Name:       w.Name,
		Mode:       w.Mode,
		Root:       w.Root,
		Repository: w.Repository,
		Branch:     w.Branch,
		OwnBranch:  w.OwnBranch,
		Base:       w.Base,
		BaseCommit: w.BaseCommit,
		Port:       w.Port,
		Ports:      w.Ports,
		State:      w.State,
		Error:      w.Error,
		Ephemeral:  w.Ephemeral,
		CreatedAt:  w.CreatedAt,
		Parent:     w.Parent, ParentSession: w.ParentSession,
	}
	if w.Root != "" {
		v.Path = w.Path()
	}
	return v
}

// viewAmong is workspaceView with the names of all workspaces.
func (s *App) viewAmong(all names.Set, w workspace.Workspace) api.Workspace {
	v := RecordedWorkspace(w)
	v.Label, v.Error = all.Label(called(w)), s.redact(w.Error)
	if w.Repository != "" {
		v.RepoName = all.Repository(w.Repository)
	}
	v.Brought = s.brought.get(w.ID)
	v.Attention = attention.OfEmpty(v)
	w.Name = v.Label
	v.Problem = trouble(s.Workspaces, w)
	return v
}

// wholeWorkspace returns the view of a workspace with its stages and sessions.
func (s *App) wholeWorkspace(ctx context.Context, w workspace.Workspace) (api.Workspace, error) {
	v := s.workspaceView(ctx, w)
	stages, err := s.Store.Stages(ctx, w.ID)
	if err != nil {
		return api.Workspace{}, err
	}
	v.Stages = joinStages(stages)
	_, v.Sessions, err = s.sessionsOf(ctx, w)
	return v, err
}

// joinStages joins the start of each stage, its progress and its end into one
// entry.
func joinStages(list []workspace.Stage) []api.Stage {
	var out []api.Stage
	for _, stage := range list {
		last := len(out) - 1
		next := stageView(stage)
		if last >= 0 && out[last].Name == next.Name && out[last].State == "running" && (next.State != "running" || next.Detail != "") {
			next.StartedAt = out[last].StartedAt
			out[last] = next
			continue
		}
		out = append(out, next)
	}
	return out
}

func stageView(stage workspace.Stage) api.Stage {
	v := api.Stage{Name: stage.Name, State: stage.State, StartedAt: stage.Time, Detail: stage.Detail}
	if stage.State != "running" {
		v.FinishedAt = &stage.Time
	}
	return v
}

// publishSession publishes the present view of a session as an event. One call at a
// time makes and publishes a view: otherwise one that has waited for the session
// would follow a newer one, and clients would show what was, until the next event.
func (s *App) publishSession(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	defer s.publishing.take(id)()
	row, err := s.Store.Session(ctx, id)
	if err != nil {
		return // it was removed meanwhile, which had its own event
	}
	view := s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	if view.State.Ended() && !row.State.Ended() {
		return // an end is published once, when it is recorded
	}
	if k := s.agents.get(id); k != nil {
		k.attached.Store(view.Writer != nil)
	}
	s.Events.Publish(row.WorkspaceID, api.Event{Type: "session", ID: id, Session: &view})
}

// publishWorkspace publishes the present view of a workspace as an event, and of
// others whose label has changed with it.
func (s *App) publishWorkspace(ctx context.Context, w workspace.Workspace) {
	s.relabel(ctx)
	s.publishView(context.WithoutCancel(ctx), w)
}

// publishView publishes the view of w, and again if another change has given it
// another label meanwhile: so the last event has the present one.
func (s *App) publishView(ctx context.Context, w workspace.Workspace) {
	const tries = 3
	for range tries {
		view := s.workspaceView(ctx, w)
		s.Events.Publish(w.ID, api.Event{Type: "workspace", ID: w.ID, Workspace: &view})
		if s.label(ctx, w) == view.Label {
			return
		}
	}
}

// publishDeleted publishes that a workspace is gone.
func (s *App) publishDeleted(ctx context.Context, id string) {
	s.Events.Publish(id, api.Event{Type: "workspace-deleted", ID: id})
	s.relabel(ctx)
}

// ListBackends returns all backends, with the reason for each that cannot start
// a session now, and marks the default one.
func (s *App) ListBackends(ctx context.Context) []api.Backend {
	chosen, _, _ := s.chooseBackend(ctx, "") // on an error there is no default; each backend gives its reason below
	views := []api.Backend{}
	for _, b := range s.Backends {
		v := api.Backend{Name: b.Name(), Usable: true, Default: chosen == b}
		if err := b.Usable(ctx); err != nil {
			v.Usable, v.Reason = false, s.redact(oneLine(err))
		}
		views = append(views, v)
	}
	return views
}

// maxSameName bounds the numbers that are tried after a name that is taken.
const maxSameName = 1000

// numbered calls try with name, then with name-2, name-3 and so on, while the
// error is store.ErrNameTaken.
func numbered(name string, try func(name string) error) error {
	for n := 1; n <= maxSameName; n++ {
		if err := try(workspace.Numbered(name, n)); !errors.Is(err, store.ErrNameTaken) {
			return err
		}
	}
	return fmt.Errorf("find a name like %s: %w", name, store.ErrNameTaken)
}

// called returns what package names knows w by.
func called(w workspace.Workspace) names.Workspace {
	return names.Workspace{ID: w.ID, Name: w.Name, Repository: w.Repository}
}

// namesOf returns the names of these workspaces.
func namesOf(list []workspace.Workspace) names.Set {
	known := make([]names.Workspace, len(list))
	for i, w := range list {
		known[i] = called(w)
	}
	return names.New(known)
}

// named returns the names of all workspaces.
func (s *App) named(ctx context.Context) names.Set {
	list, err := s.Store.Names(ctx)
	if err != nil && ctx.Err() == nil {
		s.Log.Error("read the names of workspaces", "error", err)
	}
	return names.New(list)
}

// label returns what a user types for w.
func (s *App) label(ctx context.Context, w workspace.Workspace) string {
	return s.named(ctx).Label(called(w))
}

// shown returns w with its label as its name, for messages.
func (s *App) shown(ctx context.Context, w workspace.Workspace) workspace.Workspace {
	w.Name = s.label(ctx, w)
	return w
}

// deletedLabels returns the labels of the deleted workspaces, by id.
func (s *App) deletedLabels(ctx context.Context) map[string]string {
	list, err := s.Store.DeletedNames(ctx)
	if err != nil && ctx.Err() == nil {
		s.Log.Error("read the names of deleted workspaces", "error", err)
	}
	set, labels := names.New(list), map[string]string{}
	for _, w := range list {
		labels[w.ID] = set.Label(w)
	}
	return labels
}

// FindWorkspace returns the id of the workspace, or of the deleted one, that text
// means: an id, a name, or NAME@REPOSITORY. A text that means none it returns as
// it is.
func (s *App) FindWorkspace(ctx context.Context, text string, deleted bool) (id string, err error) {
	read := s.Store.Names
	if deleted {
		read = s.Store.DeletedNames
	}
	list, err := read(ctx)
	if err != nil {
		return "", err
	}
	at, err := names.New(list).Find(text, true)
	if _, several := errors.AsType[*names.AmbiguousError](err); several {
		return "", Refusef(api.CodeAmbiguous, "%v", err)
	}
	if err != nil {
		return text, nil
	}
	return list[at].ID, nil
}

// labels are the labels of all workspaces as clients know them.
type labels struct {
	mu   sync.Mutex
	last map[string]string // by id; mu guards it
}

// relabel publishes the workspaces whose label another workspace has changed
// since the last call, with their sessions.
func (s *App) relabel(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, id := range s.relabelled(ctx) {
		if w, err := s.Store.Workspace(ctx, id); err == nil {
			s.publishView(ctx, w)
			s.publishSessions(ctx, id)
		}
	}
}

// relabelled returns the ids of the workspaces whose label has changed since the
// last call.
func (s *App) relabelled(ctx context.Context) []string {
	s.labels.mu.Lock()
	defer s.labels.mu.Unlock()
	list, err := s.Store.Names(ctx)
	if err != nil {
		s.Log.Error("read the names of workspaces", "error", err)
		return nil
	}
	set, now := names.New(list), map[string]string{}
	var changed []string
	for _, w := range list {
		now[w.ID] = set.Label(w)
		if before, known := s.labels.last[w.ID]; known && before != now[w.ID] {
			changed = append(changed, w.ID)
		}
	}
	s.labels.last = now
	return changed
}

// publishSessions publishes the sessions of a workspace: they have its label.
func (s *App) publishSessions(ctx context.Context, workspaceID string) {
	rows, _, err := s.Store.Sessions(ctx, workspaceID, store.Page{Limit: -1})
	if err != nil {
		s.Log.Error("list the sessions of a workspace", "workspace", workspaceID, "error", err)
	}
	for _, row := range rows {
		s.publishSession(ctx, row.ID)
	}
}
