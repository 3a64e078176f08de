//go:build linux || darwin

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/private"
	"middleman/internal/store"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/workspace"
)

// newApp returns an App on directories of its own, below home. Nothing was
// recalled or resumed.
func newApp(t *testing.T) (s *App, home string) {
	t.Helper()
	home = testenv.ShortDir(t)
	dirs := config.Dirs{Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config"), Runtime: filepath.Join(home, "run")}
	if err := dirs.Prepare(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), dirs.Database())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err = New(Options{
		Store: db, Dirs: dirs, Workspaces: workspace.New(workspace.Options{Base: dirs.Workspaces()}),
		Backends: []terminal.Backend{ptyowner.New(ptyowner.Options{Data: dirs.Data, Sessions: dirs.Sessions(), Runtime: dirs.Sockets()})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, home
}

// A prune that begins before the search of the start does not keep that from its
// end, for which the prune's own deletes wait.
func TestPruneBesideTheStart(t *testing.T) {
	s, _ := newApp(t)
	failed := workspace.Workspace{
		ID: terminal.NewID("w"), Name: "failed", Mode: workspace.ModeDirectory, State: workspace.StateFailed, CreatedAt: time.Now(),
	}
	if err := s.Store.CreateWorkspace(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	pruned := make(chan error, 1)
	go func() {
		out, err := s.Prune(t.Context(), api.PruneQuery{})
		if err == nil && (len(out.Leftovers) != 1 || !out.Leftovers[0].Pruned) {
			err = fmt.Errorf("pruned %+v", out.Leftovers)
		}
		pruned <- err
	}()
	// It must not take the lock that the search needs: give it time to.
	for began := time.Now(); time.Since(began) < 200*time.Millisecond && s.tidying.TryLock(); {
		s.tidying.Unlock()
	}
	s.Resume(t.Context(), nil)
	if err := <-pruned; err != nil {
		t.Error(err)
	}
	s.Stop(t.Context())
}

// What earlier servers kept for sessions that are gone is removed at a start. What a
// session has that is being started meanwhile, and has no row yet, stays.
func TestSweepsLeaveWhatIsMadeNow(t *testing.T) {
	s, _ := newApp(t)
	places := []func(string) string{s.Dirs.Hooks, s.Dirs.Sandbox, s.Dirs.Private}
	prepare := func(id string) {
		for _, place := range places {
			if err := private.MakeDir(place(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	prepare("earlier")
	rows, err := s.Recall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prepare("now")
	s.Resume(t.Context(), rows)
	for _, place := range places {
		if _, err := os.Lstat(place("earlier")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", place("earlier"), err)
		}
		if _, err := os.Lstat(place("now")); err != nil {
			t.Error(err)
		}
	}
	s.Stop(t.Context())
}

// An App that was stopped refuses whatever changes something.
func TestStoppedAppRefuses(t *testing.T) {
	s, home := newApp(t)
	s.Stop(t.Context())
	for name, do := range map[string]func(context.Context) error{
		"CreateWorkspace": func(ctx context.Context) error {
			_, err := s.CreateWorkspace(ctx, api.NewWorkspace{Mode: workspace.ModeDirectory})
			return err
		},
		"RetryWorkspace":   func(ctx context.Context) error { _, err := s.RetryWorkspace(ctx, "w1", api.Retry{}); return err },
		"RestoreWorkspace": func(ctx context.Context) error { _, err := s.RestoreWorkspace(ctx, "w1"); return err },
		"DeleteWorkspace": func(ctx context.Context) error {
			_, err := s.DeleteWorkspace(ctx, "w1", Consent{}, false)
			return err
		},
		"StartSession": func(ctx context.Context) error { _, err := s.StartSession(ctx, "w1", api.NewSession{}); return err },
		"EndSession":   func(ctx context.Context) error { _, err := s.EndSession(ctx, "s1", 0, false); return err },
		"Spawn":        func(ctx context.Context) error { _, err := s.Spawn(ctx, "s1", api.NewWorker{}); return err },
		"Prune":        func(ctx context.Context) error { _, err := s.Prune(ctx, api.PruneQuery{}); return err },
		"Import":       func(ctx context.Context) error { _, err := s.Import(ctx, api.Import{}, false); return err },
		"Repair":       func(ctx context.Context) error { _, err := s.Repair(ctx, api.Repair{}, false); return err },
		"Approve":      func(ctx context.Context) error { _, err := s.Approve(ctx, "w1", api.Approve{}); return err },
		"ApproveIn": func(ctx context.Context) error {
			_, err := s.ApproveIn(ctx, api.ApproveIn{Directory: home})
			return err
		},
		"Revoke": func(ctx context.Context) error { _, err := s.Revoke(ctx, home, false); return err },
	} {
		if err := do(t.Context()); !errors.Is(err, ErrStopping) {
			t.Errorf("%s: %v, want ErrStopping", name, err)
		}
	}
}

// What removes a session tells of it after whoever is about to tell of the session: a
// list that hears of both would show it for ever.
func TestRemovalIsToldLast(t *testing.T) {
	s, _ := newApp(t)
	w := workspace.Workspace{ID: terminal.NewID("w"), Name: "w", Mode: workspace.ModeDirectory, State: workspace.StateReady, CreatedAt: time.Now()}
	if err := s.Store.CreateWorkspace(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	row := store.Session{ID: terminal.NewID("s"), WorkspaceID: w.ID, Name: "sh", Backend: ptyowner.Name, State: terminal.StateExited, CreatedAt: time.Now()}
	if err := s.Store.CreateSession(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	before := s.Events.Now()
	leave := s.publishing.take(row.ID) // as publishSession has it while it asks the owner
	removed := make(chan error, 1)
	go func() { removed <- s.forgetSession(t.Context(), row) }()
	for { // until it is out of the store
		if _, err := s.Store.Session(t.Context(), row.ID); errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	select { // it must wait for its turn: give it time not to
	case err := <-removed:
		t.Fatalf("it has told of the removal already (%v)", err)
	case <-time.After(100 * time.Millisecond):
	}
	s.Events.Publish(w.ID, api.Event{Type: "session", ID: row.ID})
	leave()
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	var told []string
	list, _, _, _ := s.Events.After(before)
	for _, r := range list {
		if r.Event.ID == row.ID {
			told = append(told, r.Event.Type)
		}
	}
	if !slices.Equal(told, []string{"session", "session-removed"}) {
		t.Errorf("told %q", told)
	}
}
