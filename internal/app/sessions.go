package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/environ"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// launch starts a session in a workspace. It writes the row before the program
// starts, so that a crash in between leaves no session without a row. A failed
// start leaves a row in StateFailed, which is returned beside the error. note
// says what is not as it was asked for: another backend than the plan's hosts
// the session, or its environment lacks something.
func (s *App) launch(ctx context.Context, w workspace.Workspace, p plan) (row store.Session, note string, err error) {
	id := cmp.Or(p.id, terminal.NewID("s"))
	spec, applied, missing, err := s.spec(ctx, id, w, p)
	if err != nil {
		return store.Session{}, "", err
	}
	secret := store.NewSecret()
	spec.Env, spec.Sources[tokenVariable] = append(spec.Env, tokenVariable+"="+secret), environ.Own
	row, err = s.addRow(ctx, p.name, p.suffix, store.Session{
		ID:          id,
		WorkspaceID: w.ID,
		Backend:     p.backend.Name(),
		Argv:        p.shownArgv(),
		Dir:         spec.Dir,
		State:       terminal.StateStarting,
		CreatedAt:   time.Now().UTC(),
		Parent:      p.parent,

		Profile: p.profile, Conversation: p.conversation, Sandbox: applied, Bundle: p.bundle,
	})
	if err != nil {
		s.cleanUp(id)
		return store.Session{}, "", err
	}
	if err := s.Store.SetSessionSecret(ctx, id, secret); err != nil {
		s.cleanUp(id)
		return store.Session{}, "", errors.Join(err, s.Store.DeleteSession(ctx, id))
	}
	if p.rules != "" {
		s.agents.begin(id, p.profile, p.rules)
	}
	row.Backend, note, err = s.host(ctx, spec, p)
	note = joinNotes(p.note, missing, note)
	if failed, ok := errors.AsType[*terminal.StartError](err); ok {
		row.State, row.Error = terminal.StateFailed, s.redact(failed.Error())
		s.setState(ctx, row, row.State, row.Error)
		return row, "", err
	}
	// Any other error proves nothing; the monitor will find out whether it runs.
	if err == nil {
		row.State = terminal.StateRunning
		s.setState(ctx, row, row.State, "")
	}
	s.keep(ctx, row)
	return row, note, err
}

// joinNotes joins the notes that are not empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
}

// host starts a session in the plan's backend. If an error proves that the
// backend failed and not the program, it tries the next usable backend. It
// returns the name of the last backend tried and, in note, why that is not the
// first. It records each backend in the session's row before it tries that.
func (s *App) host(ctx context.Context, spec terminal.Spec, p plan) (name, note string, err error) {
	name = p.backend.Name()
	_, err = p.backend.Start(ctx, spec)
	for _, next := range p.next {
		failed, ok := errors.AsType[*terminal.StartError](err)
		if !ok || !failed.Host || ctx.Err() != nil {
			break
		}
		if next.Usable(ctx) != nil {
			continue
		}
		s.Log.Warn("a backend could not start a session", "session", spec.ID, "backend", name, "error", err, "next", next.Name())
		if err := s.Store.SetSessionBackend(ctx, spec.ID, next.Name()); err != nil {
			return name, "", errors.Join(failed, err)
		}
		tried := fmt.Sprintf("%s could not start it (%s)", name, s.redact(oneLine(failed.Err)))
		name = next.Name()
		note = tried + ": " + name + " hosts it"
		if _, err = next.Start(ctx, spec); err == nil {
			break
		}
		if last, ok := errors.AsType[*terminal.StartError](err); ok {
			last.Err = fmt.Errorf("%w; %s before that", last.Err, tried)
		}
	}
	return name, note, err
}

// oneLine returns the text of an error on one line; errors.Join makes several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// addRow stores row under the requested name, or under a free one, see freeName.
func (s *App) addRow(ctx context.Context, asked string, suffix bool, row store.Session) (store.Session, error) {
	row, err := freeName(asked, suffix, row, func(row store.Session) error { return s.Store.CreateSession(ctx, row) })
	if asked != "" && errors.Is(err, store.ErrNameTaken) {
		err = s.takenName(ctx, row.WorkspaceID, asked)
	}
	return row, err
}

// freeName calls create with row under the requested name, or under names made
// from its profile or the name of the command until one is free.
func freeName(asked string, suffix bool, row store.Session, create func(store.Session) error) (store.Session, error) {
	if asked != "" && !suffix {
		row.Name = asked
		return row, create(row)
	}
	_, profile, of := strings.Cut(row.Profile, "/") // of a bundle
	if !of {
		profile = row.Profile
	}
	err := numbered(cmp.Or(asked, profile, commandName(row.Argv)), func(name string) error {
		row.Name = name
		return create(row)
	})
	return row, err
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// commandName makes a session's name from its command: "vim" for /usr/bin/vim.
func commandName(argv []string) string {
	base := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	base = strings.Trim(notInName().ReplaceAllString(base, "-"), "-._")
	if len(base) > 48 {
		base = base[:48]
	}
	if base == "" {
		return "session"
	}
	return base
}

// setState records and publishes a state. A failed write is only logged: the
// stored state is shown only when the backend does not answer, and the next
// server asks the backend again.
func (s *App) setState(ctx context.Context, row store.Session, state terminal.State, problem string) {
	if err := s.Store.SetSessionState(context.WithoutCancel(ctx), row.ID, state, problem); err != nil {
		s.Log.Error("record a session's state", "session", row.ID, "state", state, "error", err)
	}
	if state.Ended() {
		s.endAgent(ctx, row.ID, agent.Ended(nil))
	}
	s.publishSession(ctx, row.ID)
	if state.Ended() {
		s.removeHooks(row.ID)
		s.bringEnded(ctx, row.ID)
		s.completeTombstone(ctx, row.ID)
	}
}

// setExit records and publishes how a session ended.
func (s *App) setExit(ctx context.Context, id string, exit terminal.Exit) {
	if err := s.Store.SetSessionExit(context.WithoutCancel(ctx), id, exit); err != nil {
		s.Log.Error("record a session's exit", "session", id, "error", err)
	}
	s.endAgent(ctx, id, agent.Ended(&exit))
	s.publishSession(ctx, id)
	s.removeHooks(id)
	s.bringEnded(ctx, id)
	s.completeTombstone(ctx, id)
}

// startSession starts a session on request. It refuses while the workspace is
// not ready or is being deleted. A failed start leaves no row.
func (s *App) startSession(ctx context.Context, workspaceID string, in api.NewSession) (api.Session, error) {
	if in.Restarts == "" {
		return s.startLike(ctx, workspaceID, in, nil)
	}
	former, err := s.Store.Session(ctx, in.Restarts)
	if err != nil {
		return api.Session{}, err
	}
	if former.WorkspaceID != workspaceID || !former.State.Ended() {
		return api.Session{}, Refusef(api.CodeBadRequest, "session %s is no ended session of this workspace: nothing can be started in its place", former.Name)
	}
	view, err := s.startLike(ctx, workspaceID, in, nil)
	return s.inPlaceOf(ctx, former.ID, view, err)
}

// inPlaceOf returns what a start in the place of an ended session has returned. If that was
// started, the end of the other one is settled.
func (s *App) inPlaceOf(ctx context.Context, former string, started api.Session, err error) (api.Session, error) {
	if err == nil {
		s.setSettled(ctx, former)
	}
	return started, err
}

// setSettled records and publishes that an ended session needs nobody any more.
func (s *App) setSettled(ctx context.Context, id string) {
	if err := s.Store.SetSettled(context.WithoutCancel(ctx), id); err != nil {
		s.Log.Error("record that the end of a session is settled", "session", id, "error", err)
	}
	s.publishSession(ctx, id)
}

// startLike is startSession, or takes up the conversation of the session again.
func (s *App) startLike(ctx context.Context, workspaceID string, in api.NewSession, again *store.Session) (api.Session, error) {
	w, err := s.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return api.Session{}, err
	}
	p, err := s.plan(ctx, in, profiles{repository: s.profilesOf(w), again: again})
	if err != nil {
		return api.Session{}, err
	}
	leave, ok := s.gates.launch(workspaceID)
	if !ok {
		return api.Session{}, Refusef(api.CodeBusy, "the workspace is being deleted")
	}
	defer leave()
	if w, err = s.Store.Workspace(ctx, workspaceID); err != nil {
		return api.Session{}, err
	}
	if w.State != workspace.StateReady {
		return api.Session{}, Refusef(api.CodeBusy, "workspace %s is %s: no session can be started in it", s.label(ctx, w), w.State)
	}
	row, note, err := s.launch(ctx, w, p)
	if err != nil {
		if row.State == terminal.StateFailed {
			err = errors.Join(err, s.forgetSession(ctx, row))
		}
		return api.Session{}, err
	}
	view := s.sessionView(ctx, row, s.label(ctx, w))
	view.Note = note
	return view, nil
}

// endSession is EndSession without finish.
func (s *App) endSession(ctx context.Context, id string, grace time.Duration, keep bool) (api.Session, error) {
	row, err := s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		t, err := s.Store.Transcript(ctx, id)
		if err == nil {
			v := s.transcriptView(ctx, t)
			if !keep {
				_, err = s.transcripts.Remove(ctx, t)
			}
			return v, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return api.Session{}, err
		}
		return s.endUnrecorded(ctx, id, grace, keep)
	}
	if err != nil {
		return api.Session{}, err
	}
	view := s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	if view.State.Ended() {
		if err := s.stopLeft(ctx, row); err != nil {
			return api.Session{}, err
		}
		if keep {
			if attention.Interrupted(view) {
				s.setSettled(ctx, row.ID)
				row.Settled = true
			}
			return s.sessionView(ctx, row, view.WorkspaceName), nil
		}
		return view, s.removeSession(ctx, row)
	}
	if err := s.stopSession(ctx, row, grace); err != nil {
		return api.Session{}, err
	}
	row, err = s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) { // another request has removed it since it ended
		view.State = terminal.StateExited
		return view, nil
	}
	if err != nil {
		return api.Session{}, err
	}
	return s.sessionView(ctx, row, view.WorkspaceName), nil
}

// stopSession returns when nothing of the session is left, and has recorded
// how it ended.
func (s *App) stopSession(ctx context.Context, row store.Session, grace time.Duration) error {
	b, err := s.backend(row)
	if err != nil {
		return err
	}
	status, err := endLive(ctx, b.Session(row.ID), row.ID, grace)
	return s.settle(ctx, row, status, err)
}

// stopLeft ends the processes that an ended session has left. The error is a
// *terminal.LeftoverError; other errors are logged, because the session's end is proved.
func (s *App) stopLeft(ctx context.Context, row store.Session) error {
	b, err := s.backend(row)
	if err == nil {
		err = b.Session(row.ID).Stop(ctx, 0)
	}
	if err != nil && !provesEnd(err) {
		s.Log.Info("end what a session has left", "session", row.ID, "error", err)
	}
	if left, ok := errors.AsType[*terminal.LeftoverError](err); ok {
		return left
	}
	return nil
}

// removedIn is how long the state of a session may take to be removed.
const removedIn = time.Second

// endLive stops a session and returns its status afterwards. An error proves its
// end, see provesEnd, or that it may run still.
func endLive(ctx context.Context, live terminal.Session, id string, grace time.Duration) (terminal.Status, error) {
	stopped := live.Stop(ctx, grace)
	if stopped != nil && !provesEnd(stopped) && !errors.Is(stopped, terminal.ErrUnreachable) {
		return terminal.Status{}, stopped
	}
	status, err := live.Status(ctx)
	// While another request removes what is left of the session, nothing proves
	// its end for a moment.
	for deadline := time.Now().Add(removedIn); errors.Is(err, terminal.ErrUnreachable) && ctx.Err() == nil && time.Now().Before(deadline); {
		<-time.After(removedIn / 50)
		status, err = live.Status(ctx)
	}
	switch {
	case err != nil || status.State.Ended():
		return status, err
	case errors.Is(stopped, terminal.ErrUnreachable):
		return status, stopped
	}
	return status, fmt.Errorf("stop session %s: it is %s afterwards: %w", id, status.State, terminal.ErrUnreachable)
}

// provesEnd reports whether an error says that the program is gone.
func provesEnd(err error) bool {
	return errors.Is(err, terminal.ErrNotFound) || errors.Is(err, terminal.ErrGone) || errors.Is(err, terminal.ErrEnded)
}

// settle records the end of a session by what its backend answered: status, or
// err. If err does not prove an end, settle returns it and records nothing.
func (s *App) settle(ctx context.Context, row store.Session, status terminal.Status, err error) error {
	switch {
	case err == nil && status.Exit != nil:
		s.setExit(ctx, row.ID, *status.Exit)
	case err == nil && status.State.Ended():
		s.setEnded(ctx, row, status.State, s.redact(api.LostText(status)))
	case err != nil && !provesEnd(err):
		return err
	case err != nil && row.State == terminal.StateStarting:
		s.setState(ctx, row, terminal.StateFailed, "the server ended while it was started")
	case err != nil:
		s.setEnded(ctx, row, terminal.StateLost, "its backend does not know it any more")
	}
	return nil
}

// setEnded records an end without an exit. It logs it once: a session that has
// ended is not asked again.
func (s *App) setEnded(ctx context.Context, row store.Session, state terminal.State, why string) {
	if row.State != state {
		s.Log.Warn("session ended without an exit", "session", row.ID, "backend", row.Backend, "state", state, "why", why)
	}
	s.setState(ctx, row, state, why)
}

// removeSession deletes the state of an ended session, then its row. In the
// other order, the session would appear again after a crash in between.
func (s *App) removeSession(ctx context.Context, row store.Session) error {
	b, err := s.backend(row)
	if err != nil {
		return err
	}
	if err := b.Session(row.ID).Remove(ctx); err != nil && !errors.Is(err, terminal.ErrNotFound) {
		return err
	}
	return s.forgetSession(ctx, row)
}

func (s *App) forgetSession(ctx context.Context, row store.Session) error {
	s.cleanUp(row.ID)
	if err := s.Store.DeleteSession(ctx, row.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	defer s.publishing.take(row.ID)() // a view that was made before comes before: it would bring the session back
	s.Events.Publish(row.WorkspaceID, api.Event{Type: "session-removed", ID: row.ID})
	return nil
}
