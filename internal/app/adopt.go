package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// adoptTimeout is how long one session without a row is asked who it is.
const adoptTimeout = 5 * time.Second

// unrecorded is what is known of sessions that a backend has and the store has
// not, because the database was lost or put back.
type unrecorded struct {
	looked chan struct{} // closed once the start has looked for all of them
	// again is held while a failed look is made again. It guards failed.
	again  sync.Mutex
	failed error // a backend could not list its sessions
	// mu guards silent.
	mu     sync.Mutex
	silent map[string]terminal.Backend // those that did not say which workspace they are of
}

// adopt makes rows of the sessions without one whose workspace is known. The
// others are left alone.
func (s *App) adopt(ctx context.Context) {
	s.unrecorded.failed = nil
	kept, err := s.keptTranscripts(ctx)
	if err != nil {
		s.unrecorded.failed = err
		return
	}
	slots := make(chan struct{}, maxAsked)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, b := range s.Backends {
		ids, err := b.List(ctx)
		if err != nil {
			s.Log.Warn("list sessions", "backend", b.Name(), "error", err)
			s.unrecorded.failed = errors.Join(s.unrecorded.failed, fmt.Errorf("list sessions of backend %s: %w", b.Name(), err))
			continue
		}
		for _, id := range ids {
			// A row is written before its session starts, so what has none
			// now is not one that is just being started.
			if _, err := s.Store.Session(ctx, id); kept[id] || !errors.Is(err, store.ErrNotFound) {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				s.contain("adopt session "+id, func() { s.adoptOne(ctx, b, id) }, nil)
			})
		}
	}
}

// adoptOne asks a session which workspace it is of, and makes its row. The
// session counts as silent unless that ends well, or proves that it runs in no
// workspace.
func (s *App) adoptOne(ctx context.Context, b terminal.Backend, id string) {
	s.unrecorded.note(id, b, true)
	asking, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	status, err := b.Session(id).Status(asking)
	if err != nil || status.Workspace == "" || len(status.Argv) == 0 {
		s.Log.Info("session without a row is left alone", "session", id, "backend", b.Name(), "error", err)
		s.unrecorded.note(id, b, err == nil && !status.State.Ended() || err != nil && !provesEnd(err))
		return
	}
	row, err := s.addRow(ctx, "", false, store.Session{
		ID: id, WorkspaceID: status.Workspace, Backend: b.Name(), Argv: status.Argv, Dir: status.Dir,
		State: terminal.StateRunning, CreatedAt: status.StartedAt.UTC(), Sandbox: s.appliedTo(id),
	})
	if errors.Is(err, store.ErrNotFound) && status.State.Ended() && len(status.Left) == 0 {
		row.State, row.Exit = status.State, status.Exit
		if err = s.adoptTranscript(ctx, row); err == nil {
			s.Log.Info("session of a deleted workspace was adopted", "session", id, "workspace", status.Workspace)
			s.unrecorded.note(id, b, false)
			return
		}
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.Log.Info("session of an unknown workspace is left alone", "session", id, "workspace", status.Workspace)
	case err != nil:
		s.Log.Warn("adopt session", "session", id, "error", err)
		return
	default:
		s.Log.Info("session without a row was adopted", "session", id, "workspace", status.Workspace)
		s.keep(ctx, row)
	}
	s.unrecorded.note(id, b, false)
}

// keptTranscripts returns the ids of the sessions of deleted workspaces.
func (s *App) keptTranscripts(ctx context.Context) (map[string]bool, error) {
	list, _, err := s.Store.Transcripts(ctx, "", store.Page{Limit: -1})
	kept := make(map[string]bool, len(list))
	for _, t := range list {
		kept[t.ID] = true
	}
	return kept, err
}

// adoptTranscript makes the record of an ended session whose workspace is known
// to be deleted.
func (s *App) adoptTranscript(ctx context.Context, row store.Session) error {
	bytes := s.transcripts.Measure([]store.Session{row})[row.ID]
	_, err := freeName("", false, row, func(row store.Session) error { return s.Store.AddTranscript(ctx, row, bytes) })
	return err
}

// note records whether a session is silent.
func (u *unrecorded) note(id string, b terminal.Backend, silent bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !silent {
		delete(u.silent, id)
		return
	}
	if u.silent == nil {
		u.silent = map[string]terminal.Backend{}
	}
	u.silent[id] = b
}

// list returns the silent sessions.
func (u *unrecorded) list() map[string]terminal.Backend {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.silent)
}

// awaitLook returns once the search of the start has looked for every session and
// workspace. That search needs s.tidying: who holds it must have waited before.
func (s *App) awaitLook(ctx context.Context) error {
	select {
	case <-s.unrecorded.looked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitSessions returns once every session has been found again, so that each
// that runs in a workspace has a row. It refuses while one does not say which
// workspace it is of: nobody can tell then what a delete would end.
func (s *App) awaitSessions(ctx context.Context) error {
	if err := s.awaitLook(ctx); err != nil {
		return err
	}
	s.unrecorded.again.Lock()
	defer s.unrecorded.again.Unlock()
	if s.unrecorded.failed != nil {
		s.adopt(ctx)
	}
	if s.unrecorded.failed != nil {
		return s.unrecorded.failed
	}
	silent := s.unrecorded.list()
	for _, id := range slices.Sorted(maps.Keys(silent)) {
		s.adoptOne(ctx, silent[id], id)
		if _, still := s.unrecorded.list()[id]; still {
			return Refusef(api.CodeUnreachable, "session %s has no record and does not say which workspace it runs in, so nothing is deleted: `middleman stop %s` ends it", id, id)
		}
	}
	return nil
}

// endUnrecorded stops a session without a row that lives, and removes one that
// has ended.
func (s *App) endUnrecorded(ctx context.Context, id string, grace time.Duration, keep bool) (api.Session, error) {
	if err := terminal.CheckID(id); err != nil {
		return api.Session{}, fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	for _, b := range s.Backends {
		ids, err := b.List(ctx)
		if err != nil {
			return api.Session{}, err
		}
		if !slices.Contains(ids, id) {
			continue
		}
		live := b.Session(id)
		status, err := live.Status(ctx)
		view := RecordedSession(store.Session{ID: id, WorkspaceID: status.Workspace, Backend: b.Name(), Argv: status.Argv, State: status.State}, "")
		switch {
		case err == nil && status.State.Ended() && keep && len(status.Left) == 0:
			return view, nil
		case err == nil && status.State.Ended() && !keep:
			return view, live.Remove(ctx)
		}
		status, err = endLive(ctx, live, id, grace)
		if err != nil && !provesEnd(err) {
			return api.Session{}, err
		}
		s.unrecorded.note(id, b, false)
		if err == nil {
			s.fill(&view, status)
		}
		return view, nil
	}
	return api.Session{}, store.ErrNotFound
}
