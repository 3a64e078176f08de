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
			if _, err := s.Store.Session(ctx, id); !errors.Is(err, store.ErrNotFound) {
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

func (s *App) adoptOne(ctx context.Context, b terminal.Backend, id string) {
	asking, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	status, err := b.Session(id).Status(asking)
	s.unrecorded.note(id, b, err != nil && !provesEnd(err) || err == nil && status.Workspace == "" && !status.State.Ended())
	if err != nil || status.Workspace == "" || len(status.Argv) == 0 {
		s.Log.Info("session without a row is left alone", "session", id, "backend", b.Name(), "error", err)
		return
	}
	row, err := s.addRow(ctx, "", store.Session{
		ID: id, WorkspaceID: status.Workspace, Backend: b.Name(), Argv: status.Argv, Dir: status.Dir,
		State: terminal.StateRunning, CreatedAt: status.StartedAt.UTC(),
	})
	if errors.Is(err, store.ErrNotFound) {
		s.Log.Info("session of an unknown workspace is left alone", "session", id, "workspace", status.Workspace)
		return
	}
	if err != nil {
		s.Log.Warn("adopt session", "session", id, "error", err)
		return
	}
	s.Log.Info("session without a row was adopted", "session", id, "workspace", status.Workspace)
	s.keep(ctx, row)
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

// awaitSessions returns once every session has been found again, so that each
// that runs in a workspace has a row. It refuses while one does not say which
// workspace it is of: nobody can tell then what a delete would end.
func (s *App) awaitSessions(ctx context.Context) error {
	select {
	case <-s.unrecorded.looked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.unrecorded.again.Lock()
	defer s.unrecorded.again.Unlock()
	if s.unrecorded.failed != nil {
		s.adopt(ctx)
	}
	if s.unrecorded.failed != nil {
		return s.unrecorded.failed
	}
	for id, b := range s.unrecorded.list() {
		s.adoptOne(ctx, b, id)
	}
	if ids := slices.Sorted(maps.Keys(s.unrecorded.list())); len(ids) > 0 {
		return Refusef(api.CodeUnreachable, "session %s has no record and does not say which workspace it runs in, so nothing is deleted: `middleman stop %s` ends it", ids[0], ids[0])
	}
	return nil
}

// endUnrecorded stops a session without a row that lives, and removes one that
// has ended.
func (s *App) endUnrecorded(ctx context.Context, id string, grace time.Duration) (api.Session, error) {
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
		view := rowView(store.Session{ID: id, WorkspaceID: status.Workspace, Backend: b.Name(), Argv: status.Argv, State: status.State}, "")
		if err == nil && status.State.Ended() {
			return view, live.Remove(ctx)
		}
		if err := live.Stop(ctx, grace); err != nil {
			return api.Session{}, err
		}
		s.unrecorded.note(id, b, false)
		if status, err = live.Status(ctx); err == nil {
			s.fill(&view, status)
		}
		return view, nil
	}
	return api.Session{}, store.ErrNotFound
}
