// Package app is what the product does, without HTTP: it makes workspaces and
// deletes them, starts sessions and watches them, spawns workers, finds all of it
// again after a restart.
//
// An App is all of it. operations.go has what changes something, queries.go what
// only looks; the files behind them have a topic each. Sessions live in their
// backends and go on when the server ends, however it ends. What a session is
// doing is always asked of its backend; the store is only what is shown when
// nobody answers. Errors that a person is to be told are Refusals with a stable
// code.
package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"middleman/internal/config"
	"middleman/internal/events"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Workspaces makes, inspects, deletes and restores directories, and undoes half-made ones; *workspace.Manager does.
type Workspaces interface {
	Begin(ctx context.Context, r workspace.CreateRequest, progress workspace.Progress) (workspace.Workspace, error)
	Checkout(ctx context.Context, r workspace.CreateRequest, w workspace.Workspace, progress workspace.Progress) (workspace.Workspace, error)
	Inspect(ctx context.Context, w workspace.Workspace) (workspace.Loss, error)
	Delete(ctx context.Context, w workspace.Workspace, discard bool, progress workspace.Progress) (workspace.Loss, error)
	Restore(ctx context.Context, w workspace.Workspace, progress workspace.Progress) (workspace.Workspace, []string, error)
	PutBack(w workspace.Workspace) (bool, error)
	Undo(ctx context.Context, w workspace.Workspace, discard bool) error
	Inspector
	Finder
	Copy(ctx context.Context, w workspace.Workspace, patterns []string, progress workspace.Progress) error
	Workers
	Importer
	Repairer
}

// Options are what an App is made of.
type Options struct {
	// Store is open for writing. The caller closes it once nothing runs any more.
	Store      *store.Store
	Workspaces Workspaces
	// Backends are what sessions can live in; "auto" takes the first usable.
	Backends []terminal.Backend
	// Backend is the default for a session that names none: "" or "auto", or
	// the name of one of Backends.
	Backend string
	Dirs    config.Dirs
	// Environ is the environment that sessions' allow-listed variables come
	// from; nil means os.Environ.
	Environ func() []string
	// JournalBytes, Grace and Clipboard go into each session's terminal.Spec.
	JournalBytes int64
	Grace        time.Duration
	Clipboard    terminal.Clipboard
	// Ports are what workspaces get; none where Ports.Count is 0.
	Ports store.PortRange
	// SetupTimeout is how long setup, or teardown, may take; 0 is 15 minutes.
	SetupTimeout time.Duration
	// Log is where what no client is told goes; nil means slog.Default.
	Log *slog.Logger
}

// App does what the product does. Make one with New. Any number of goroutines
// may use it.
type App struct {
	Options
	Events *events.Hub
	gates  gates
	// settingUp are ready workspaces whose setup runs.
	settingUp busy
	// setups are those that run, in workspaces that are ready or being made.
	setups running
	// tidying is held while leftovers are looked for and removed.
	tidying sync.Mutex
	// work is what was asked for and must be brought to an end; watches are
	// viewers and monitors, which may be cut at any moment.
	work, watches tasks
	monitors      monitors
	statusCache   statusCache
	workers       workers
	unrecorded    unrecorded
	// asking has a place for each session that monitors ask at the moment, so
	// that a restart does not ask all of them at once.
	asking chan struct{}
}

const (
	setupTimeout = 15 * time.Minute
	// keptEvents is how many events are kept for those who come back.
	keptEvents = 4096
)

// New returns an App that does nothing yet.
func New(o Options) (*App, error) {
	if o.Store == nil || o.Workspaces == nil || len(o.Backends) == 0 {
		return nil, errors.New("make server: it needs a store, workspaces and a backend")
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.SetupTimeout == 0 {
		o.SetupTimeout = setupTimeout
	}
	s := &App{Options: o, Events: events.New(keptEvents), asking: make(chan struct{}, maxAsked)}
	s.unrecorded.looked = make(chan struct{})
	s.work.contain, s.watches.contain = s.contain, s.contain
	s.workers.files = store.Tombstones{Dir: o.Dirs.Workers()}
	return s, nil
}

// Recall reads what the server before left, and returns the sessions that Resume
// is to find again.
func (s *App) Recall(ctx context.Context) ([]store.Session, error) {
	s.loadStatusCache()
	return s.recall(ctx)
}

// Stop waits until ctx ends for what was asked for, and cuts the rest.
func (s *App) Stop(ctx context.Context) {
	s.work.stop(ctx)
	done, cancel := context.WithCancel(ctx)
	cancel()
	s.watches.stop(done)
	s.keepStatusCache()
}
