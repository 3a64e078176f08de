// Package app does the product's work, without HTTP: it makes and deletes
// workspaces, starts and watches sessions, spawns workers, and finds all of them
// again after a restart.
//
// The type App has all of it. operations.go has the methods that change
// something, queries.go those that only read; each other file has one topic.
// Sessions live in their backends and go on when the server ends, however it
// ends. The state of a running session always comes from its backend; the
// store's copy is shown only when the backend does not answer. Errors for people
// are Refusals with a stable code.
package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/approve/queue"
	"middleman/internal/bundle/library"
	"middleman/internal/config"
	"middleman/internal/environ"
	"middleman/internal/events"
	"middleman/internal/git"
	"middleman/internal/notice"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/internal/transcripts"
	"middleman/internal/watch"
	"middleman/terminal"
	"middleman/workspace"
)

// Workspaces is what the product does with directories, branches and snapshots.
// *workspace.Manager implements it, and documents the methods.
type Workspaces interface {
	Locate(ctx context.Context, r workspace.CreateRequest) (located workspace.CreateRequest, top, gitDir string, err error)
	Begin(ctx context.Context, r workspace.CreateRequest, progress workspace.Progress) (workspace.Workspace, error)
	Checkout(ctx context.Context, r workspace.CreateRequest, w workspace.Workspace, progress workspace.Progress) (workspace.Workspace, error)
	Copy(ctx context.Context, w workspace.Workspace, r workspace.CopyRequest, progress workspace.Progress) error
	Undo(ctx context.Context, w workspace.Workspace, discard bool) error

	// These read a workspace and do not change it.
	Status(ctx context.Context, w workspace.Workspace) (workspace.Status, error)
	Mark(w workspace.Workspace, upstream string) string
	Tree(ctx context.Context, w workspace.Workspace) (watch.Tree, error)
	Compare(ctx context.Context, w workspace.Workspace, r workspace.DiffRequest) (*workspace.Comparison, error)
	Commits(ctx context.Context, w workspace.Workspace, r workspace.CommitsRequest) (workspace.Commits, error)
	Forecast(ctx context.Context, w workspace.Workspace, others []workspace.Workspace) ([]workspace.Forecast, error)
	Tip(ctx context.Context, w workspace.Workspace) (string, error)
	Uncommitted(ctx context.Context, r workspace.CreateRequest) (int, error)

	Merge(ctx context.Context, w workspace.Workspace, r workspace.MergeRequest) (workspace.Merged, error)
	Push(ctx context.Context, w workspace.Workspace, r workspace.PushRequest) (workspace.Pushed, error)

	Inspect(ctx context.Context, w workspace.Workspace) (workspace.Loss, error)
	DeleteInspected(ctx context.Context, w workspace.Workspace, discard bool, progress workspace.Progress) (workspace.Loss, error)
	InspectRetired(ctx context.Context, w workspace.Workspace) (workspace.Loss, error)
	Retire(ctx context.Context, w workspace.Workspace, progress workspace.Progress) (workspace.Loss, error)
	Apart(w workspace.Workspace) (workspace.Workspace, error)
	Restore(ctx context.Context, w workspace.Workspace, progress workspace.Progress) (workspace.Workspace, []string, error)
	PutBack(w workspace.Workspace) (bool, error)
	Private(holds func(context.Context, workspace.Workspace) (workspace.Loss, error))
	IsKept(ctx context.Context, w workspace.Workspace) (bool, error)
	Forget(ctx context.Context, w workspace.Workspace) error
	Snapshots(ctx context.Context, gitDir, repository string) ([]workspace.Kept, map[string]error, error)

	// These look for what no record owns, and for what was moved.
	Leftovers(ctx context.Context, recorded workspace.Recorded) ([]workspace.Leftover, error)
	Prune(ctx context.Context, l workspace.Leftover, recorded workspace.Recorded) (workspace.Workspace, workspace.Loss, error)
	Unrecorded(ctx context.Context, recorded workspace.Recorded) ([]workspace.Workspace, error)
	Where(w workspace.Workspace) (workspace.Whereabouts, error)
	Importable(ctx context.Context, path string) (workspace.Workspace, error)
	Candidates(ctx context.Context, dir string) ([]workspace.Workspace, []workspace.Kept, []workspace.Passed, error)
	Adopt(w workspace.Workspace) error
	Repair(ctx context.Context, w workspace.Workspace, repository string, dryRun bool) (workspace.Workspace, []string, error)
	RepairDeleted(ctx context.Context, w workspace.Workspace, repository string) (workspace.Workspace, error)
}

// Login tells what the user's environment is after a login. *environ.Login
// implements it.
type Login interface {
	// Get returns that environment, or less and why.
	Get(ctx context.Context) (environ []string, why error)
	// Minimum returns HOME, USER, LOGNAME, SHELL and PATH.
	Minimum() []string
}

// Options are the parts and the settings of an App.
type Options struct {
	// Store is open for writing. The caller closes it after App.Stop.
	Store      *store.Store
	Workspaces Workspaces
	// Backends can start sessions; "auto" takes the first usable one.
	Backends []terminal.Backend
	// Backend is the default for a session that names none: "" or "auto", or
	// the name of one of Backends.
	Backend string
	Dirs    config.Dirs
	// Executable is the absolute path of middleman, for the hooks of agents.
	Executable string
	// Environ returns the server's own environment; nil means os.Environ. No
	// session gets anything of it but how to find this server.
	Environ func() []string
	// Login is the environment of sessions that no shell has asked for; nil
	// means the one of the user who runs this process.
	Login Login
	// EnvRules say what of Login may reach a session.
	EnvRules environ.Rules
	// LoginShell starts the shell of a session without a command as a login
	// shell.
	LoginShell bool
	// Profiles are the user's own, by name.
	Profiles map[string]agent.Definition
	// JournalBytes, Grace and Clipboard are the defaults of a session's
	// terminal.Spec.
	JournalBytes int64
	Grace        time.Duration
	Clipboard    terminal.Clipboard
	// Sandbox are the settings of sandboxed sessions.
	Sandbox config.Sandbox
	// Support returns which sandboxes this system has; nil means sandbox.Probe.
	Support func() sandbox.Support
	// Boot is the id of this boot of the machine; "" means the system's.
	Boot string
	// Ports is the range that workspaces get ports from. Each gets Ports.Count;
	// 0 means none.
	Ports store.PortRange
	// KeepTranscripts is how many bytes the state directories of sessions of
	// deleted workspaces may take: 0 keeps none, a negative number keeps all.
	KeepTranscripts int64
	// Watch bounds how many directories are watched to notice changes in
	// workspaces.
	Watch watch.Limits
	// StatusWait is how long a list waits for the statuses of workspaces that are
	// not known or have changed; 0 means 400 ms.
	StatusWait time.Duration
	// SetupTimeout bounds one setup or teardown; 0 means 15 minutes.
	SetupTimeout time.Duration
	// Notify is a command of the user's that gets notices: a program and its
	// arguments, nil for none.
	Notify []string
	// Push gets each notice too, and must not block; nil for none.
	Push func(api.Notice)
	// Log gets what clients are not told; nil means slog.Default.
	Log *slog.Logger
}

// App does the product's work. Make one with New. It is safe for concurrent use.
type App struct {
	Options
	Events *events.Hub
	gates  gates
	inputs inputs
	// settingUp are the ready workspaces whose setup runs.
	settingUp busy
	// setups are the running setups and teardowns, of all workspaces.
	setups running
	// tidying is held by prune, import, repair and the search at a start, so
	// that they do not overlap.
	tidying sync.Mutex
	// work has the operations that must run to their end; watches has viewers
	// and monitors, which may be cancelled at any moment.
	work, watches tasks
	monitors      monitors
	agents        agents
	statusCache   statusCache
	watcher       *watch.Watcher // of the workspaces whose status was read
	workers       workers
	unrecorded    unrecorded
	former        former
	labels        labels
	brought       brought
	placing       placing
	transcripts   *transcripts.Keeper
	approvals     *queue.Queue
	// Bundles are those that sessions can be started with.
	Bundles  *library.Library
	gitViews git.Views
	notices  *notice.Teller
	// publishing lets one view of a session after the other be published.
	publishing turns
	// asking is a semaphore for the sessions that monitors ask at the same time,
	// so that a restart does not ask all of them at once.
	asking chan struct{}
	// begun is when this server began.
	begun time.Time
}

const (
	setupTimeout = 15 * time.Minute
	// keptEvents is how many events are kept for clients that reconnect.
	keptEvents = 4096
)

// New returns an App. It starts no goroutine; call Recall and Resume next.
func New(o Options) (*App, error) {
	if o.Store == nil || o.Workspaces == nil || len(o.Backends) == 0 {
		return nil, errors.New("make server: it needs a store, workspaces and a backend")
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Login == nil {
		o.Login = environ.NewLogin(o.Environ())
	}
	if o.EnvRules.Forward == nil {
		o.EnvRules.Forward = []string{"*"}
	}
	if o.Support == nil {
		o.Support = sandbox.Probe
	}
	if o.Boot == "" {
		o.Boot = systemBoot()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.SetupTimeout == 0 {
		o.SetupTimeout = setupTimeout
	}
	s := &App{Options: o, Events: events.New(keptEvents), asking: make(chan struct{}, maxAsked), watcher: watch.New(o.Watch), begun: time.Now()}
	s.notices = notice.New(notice.Options{Looked: s.looked, Publish: s.publishNotice, Command: s.noticeCommand(), Push: o.Push, Log: o.Log})
	s.unrecorded.looked = make(chan struct{})
	s.gitViews.Hidden = o.Dirs.WithSockets()
	s.transcripts = &transcripts.Keeper{
		Store: o.Store, Backends: o.Backends, Dir: o.Dirs.Sessions(), Budget: o.KeepTranscripts, Block: s.gates.block,
	}
	s.approvals = &queue.Queue{Store: o.Store, Changed: s.publishApproval}
	s.Bundles = &library.Library{Store: o.Store, Profiles: o.Profiles}
	o.Workspaces.Private(s.sandboxHolds)
	s.work.contain, s.watches.contain = s.contain, s.contain
	s.workers.files = store.Tombstones{Dir: o.Dirs.Workers()}
	return s, nil
}

// Recall reads the state of the previous server and returns all session rows,
// for Resume. Call it before anything else uses the App.
func (s *App) Recall(ctx context.Context) ([]store.Session, error) {
	s.loadStatusCache()
	if err := s.approvals.Recover(ctx); err != nil {
		return nil, err
	}
	return s.recall(ctx)
}

// Leave is called before requests are cut off because the server ends: what agents ask
// then waits for the next server.
func (s *App) Leave() { s.approvals.Leave() }

// Stop refuses new work and waits until all work has returned. It cancels the
// operations when ctx ends, and viewers and monitors as soon as no operation
// runs. At last it saves the statuses of workspaces.
func (s *App) Stop(ctx context.Context) {
	s.work.stop(ctx)
	done, cancel := context.WithCancel(ctx)
	cancel()
	s.watches.stop(done)
	s.watcher.Close()
	s.keepStatusCache()
}

// systemBoot is the id of this boot of the machine, "" where there is none.
var systemBoot = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it all counts as this boot
	return strings.TrimSpace(string(id))
})

// publishNotice publishes a notice as an event: of its workspace, if it is about
// one alone.
func (s *App) publishNotice(n api.Notice) {
	workspace := n.Items[0].Workspace
	for _, item := range n.Items {
		if item.Workspace != workspace {
			workspace = ""
		}
	}
	s.Events.Publish(workspace, api.Event{Type: "notice", Notice: &n})
}

// noticeCommand returns the user's command for notices, nil for none.
func (s *App) noticeCommand() *notice.Command {
	if len(s.Notify) == 0 {
		return nil
	}
	return &notice.Command{Argv: s.Notify, Environ: func(ctx context.Context) ([]string, error) {
		e, _, err := s.loginEnv(ctx, false, nil)
		e.Set(environ.Own, s.finders()...)
		return e.Entries(), err
	}}
}

// PassNotice gives a notice of a remote runtime to the user's command, and pushes it.
func (s *App) PassNotice(n api.Notice) { s.notices.Pass(n) }

// NoticeCommand says what became of the user's command for notices, nil if there
// is none.
func (s *App) NoticeCommand() *api.NoticeCommand { return s.notices.Command.State() }
