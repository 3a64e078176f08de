// Package catalog lists workspaces and sessions, and finds the one that a
// TARGET of the command line means. It asks a running server, else it reads the
// database and the state directories. It never starts a server.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/attention"
	"middleman/internal/client"
	"middleman/internal/names"
	"middleman/internal/store"
	"middleman/terminal"
)

const (
	probeTimeout = 3 * time.Second // for one session's answer
	probes       = 16              // concurrent requests
)

// List holds all workspaces and sessions, from one source at one time.
type List struct {
	Workspaces []api.Workspace
	Sessions   []api.Session
	// Runtimes says which remote runtimes are part of it, see Elsewhere.
	Runtimes []api.RuntimeAnswer

	exact bool // see Exact
}

// Exact returns l for a command that destroys something: the beginning of a
// name is not enough.
func (l List) Exact() List {
	l.exact = true
	return l
}

// Read lists all workspaces and sessions with their current states. It asks the
// server; if none runs or answers it calls Disk.
func Read(ctx context.Context, c *cli.CLI) (List, error) {
	return ReadBy(ctx, c, (*client.Client).Workspaces)
}

// ReadStatus is Read with the statuses that the server knows.
func ReadStatus(ctx context.Context, c *cli.CLI) (list List, err error) {
	by := func(server *client.Client, ctx context.Context) ([]api.Workspace, error) {
		return server.WorkspacesStatus(ctx, false)
	}
	if atOnce(ctx, c, onceTimeout, func(ctx context.Context, server *client.Client) (err error) {
		list, err = readServer(ctx, server, by, (*client.Client).Sessions)
		return err
	}) == nil {
		return list, nil
	}
	return ReadBy(ctx, c, by)
}

// ReadBy is Read, with list to get the workspaces from the server.
func ReadBy(ctx context.Context, c *cli.CLI, list func(*client.Client, context.Context) ([]api.Workspace, error)) (List, error) {
	server, err := connect(ctx, c)
	if err != nil {
		return List{}, err
	}
	if server == nil {
		return Disk(ctx, c)
	}
	defer server.Close()
	return readServer(ctx, server, list, (*client.Client).Sessions)
}

// Workspaces lists all workspaces, and no sessions.
func Workspaces(ctx context.Context, c *cli.CLI) ([]api.Workspace, error) {
	server, err := connect(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case server == nil:
		list, err := Records(ctx, c)
		return list.Workspaces, err
	}
	defer server.Close()
	return server.Workspaces(ctx)
}

// connect returns the running server, or nil if none answers. It reports a
// server that should answer and does not. The error is that of ctx. For a runtime
// there is no other way, so the error is that of the server.
func connect(ctx context.Context, c *cli.CLI) (*client.Client, error) {
	server, err := c.Connect(ctx)
	switch {
	case err == nil:
		return server, nil
	case c.Runtime != "":
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, client.ErrNoServer):
		fmt.Fprintf(c.Errs, "middleman: %v; reading the disk instead\n", err)
	}
	return nil, nil
}

// OfServer lists what the server knows.
func OfServer(ctx context.Context, server *client.Client) (List, error) {
	return readServer(ctx, server, (*client.Client).Workspaces, (*client.Client).Sessions)
}

// recordsOfServer lists what the server has recorded. No session is asked for
// its state.
func recordsOfServer(ctx context.Context, server *client.Client) (List, error) {
	return readServer(ctx, server, (*client.Client).Workspaces, (*client.Client).RecordedSessions)
}

// readServer lists what the server answers to the two requests, which it gets at the same
// time: it asks the sessions while it looks at the workspaces.
func readServer(ctx context.Context, server *client.Client,
	workspaces func(*client.Client, context.Context) ([]api.Workspace, error),
	sessions func(*client.Client, context.Context) ([]api.Session, error),
) (list List, err error) {
	var both errgroup.Group
	both.Go(func() (err error) { list.Workspaces, err = workspaces(server, ctx); return err })
	both.Go(func() (err error) { list.Sessions, err = sessions(server, ctx); return err })
	if err := both.Wait(); err != nil {
		return List{}, err
	}
	return list.on(server.Runtime()), nil
}

// on puts the name of a runtime before all labels, unless it is "".
func (l List) on(runtime string) List {
	if runtime == "" {
		return l
	}
	for i := range l.Workspaces {
		l.Workspaces[i].Label = runtime + ":" + l.Workspaces[i].Label
	}
	for i := range l.Sessions {
		l.Sessions[i].WorkspaceName = runtime + ":" + l.Sessions[i].WorkspaceName
	}
	return l
}

// Disk lists without a server: it calls Records, and asks each session's
// backend for its state. It waits up to 3 seconds for a session that does not
// answer.
func Disk(ctx context.Context, c *cli.CLI) (List, error) {
	list, err := Records(ctx, c)
	if err != nil {
		return List{}, err
	}
	refresh(ctx, c, list.Sessions, list.labels())
	return list, nil
}

// Records lists what the database has, whether or not a server runs, and the
// sessions that only a backend knows. It asks no session for its state.
func Records(ctx context.Context, c *cli.CLI) (List, error) {
	if c.Runtime != "" {
		return Read(ctx, c)
	}
	list, known, err := rows(ctx, c)
	if err != nil {
		return List{}, err
	}
	return list, addUnrecorded(ctx, c, &list, known)
}

// rows lists what the database has. known has the ids of all sessions, those of
// deleted workspaces too.
func rows(ctx context.Context, c *cli.CLI) (list List, known map[string]bool, err error) {
	known = map[string]bool{}
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return List{}, known, nil
	}
	if err != nil {
		return List{}, known, err
	}
	defer db.Close()
	nameBadRows(ctx, c, db)
	all := store.Page{Limit: -1}
	workspaces, _, err := db.Workspaces(ctx, all)
	if err != nil {
		return List{}, known, err
	}
	for _, w := range workspaces {
		shown := app.RecordedWorkspace(w)
		shown.Problem = app.Trouble(c.Manager(), w)
		list.Workspaces = append(list.Workspaces, shown)
	}
	label(list.Workspaces)
	labels := list.labels()
	sessions, _, err := db.Sessions(ctx, "", all)
	if err != nil {
		return List{}, known, err
	}
	for _, s := range sessions {
		known[s.ID] = true
		list.Sessions = append(list.Sessions, app.RecordedSession(s, labels[s.WorkspaceID]))
	}
	kept, _, err := db.Transcripts(ctx, "", all)
	for _, t := range kept {
		known[t.ID] = true
	}
	return list, known, err
}

// nameBadRows reports the rows of the database that every list skips.
func nameBadRows(ctx context.Context, c *cli.CLI, db *store.Store) {
	bad, err := db.BadRows(ctx)
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: %v\n", err)
	}
	for _, row := range bad {
		fmt.Fprintf(c.Errs, "middleman: skipped a row of database %s with an invalid id: %s\n", c.Dirs.Database(), row)
	}
}

// labels maps the ids of the workspaces to their labels.
func (l List) labels() map[string]string {
	labels := map[string]string{}
	for _, w := range l.Workspaces {
		labels[w.ID] = w.Label
	}
	return labels
}

// addUnrecorded appends the sessions that only a backend knows. If a backend
// fails it reports that and goes on.
func addUnrecorded(ctx context.Context, c *cli.CLI, list *List, known map[string]bool) error {
	for _, b := range c.Backends() {
		ids, err := b.List(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(c.Errs, "middleman: list %s sessions: %v\n", b.Name(), err)
			continue
		}
		for _, id := range ids {
			if !known[id] {
				known[id] = true
				list.Sessions = append(list.Sessions, api.Session{ID: id, Name: id, Backend: b.Name()})
			}
		}
	}
	return nil
}

// refresh asks the backends for the state of each session, several at a time, and
// judges all of them anew.
func refresh(ctx context.Context, c *cli.CLI, sessions []api.Session, labels map[string]string) {
	byName := map[string]terminal.Backend{}
	for _, b := range c.Backends() {
		byName[b.Name()] = b
	}
	slots := make(chan struct{}, probes)
	var wg sync.WaitGroup
	for i := range sessions {
		b, ok := byName[sessions[i].Backend]
		if !ok {
			continue
		}
		if sessions[i].State.Ended() {
			if lingers, err := terminal.Lingers(b.Session(sessions[i].ID)); !lingers || err != nil {
				continue // the server says the error
			}
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			refreshOne(ctx, c, b, &sessions[i], labels)
		})
	}
	wg.Wait()
	for i := range sessions {
		sessions[i].Attention = attention.Of(sessions[i])
	}
}

func refreshOne(ctx context.Context, c *cli.CLI, b terminal.Backend, s *api.Session, labels map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	status, err := b.Session(s.ID).Status(ctx)
	if err != nil || status.State.Ended() {
		s.Agent = nil // that was told of a program that runs
	}
	if err != nil {
		s.Error, s.AsOf = err.Error(), time.Now()
		switch {
		case errors.Is(err, terminal.ErrNotFound), errors.Is(err, terminal.ErrGone):
			s.State = terminal.StateLost
		default:
			s.State = terminal.StateUnreachable
		}
		return
	}
	s.SetStatus(status)
	if s.WorkspaceID == "" {
		s.WorkspaceID, s.WorkspaceName, s.Argv, s.CreatedAt = status.Workspace, labels[status.Workspace], status.Argv, status.StartedAt
	}
	if status.State == terminal.StateRunning {
		s.Agent = agentOf(ctx, c, b.Session(s.ID), *s)
	}
}

// Workspace finds a workspace by id, name, or NAME@REPOSITORY, see package
// names. Unless l is exact, the beginning of a name is enough. Of several
// deleted ones with one name in one repository it takes the first.
func (l List) Workspace(target string) (api.Workspace, error) {
	set := SetOf(l.Workspaces)
	if found := set.All(target, l.exact); len(found) > 0 && !slices.ContainsFunc(found, func(at int) bool {
		return l.Workspaces[at].DeletedAt == nil || l.Workspaces[at].Repository != l.Workspaces[found[0]].Repository
	}) {
		return l.Workspaces[found[0]], nil
	}
	at, err := set.Find(target, l.exact)
	if _, none := errors.AsType[*names.NoneError](err); none {
		return api.Workspace{}, noneError(err.Error())
	}
	if err != nil {
		return api.Workspace{}, err
	}
	return l.Workspaces[at], nil
}

// SetOf returns the names of the workspaces, in their order.
func SetOf(list []api.Workspace) names.Set {
	known := make([]names.Workspace, len(list))
	for i, w := range list {
		known[i] = names.Workspace{ID: w.ID, Name: w.Name, Repository: w.Repository}
	}
	return names.New(known)
}

// label sets the labels of the workspaces, which the server does otherwise.
func label(list []api.Workspace) {
	set := SetOf(list)
	for i, w := range list {
		list[i].Label = set.Label(names.Workspace{ID: w.ID, Name: w.Name, Repository: w.Repository})
		if w.Repository != "" {
			list[i].RepoName = set.Repository(w.Repository)
		}
	}
}

// parts splits a TARGET into workspace and session, which ok says it has. The
// name of a repository may have slashes.
func (l List) parts(target string) (name, session string, ok bool) {
	if !strings.Contains(target, "@") {
		return strings.Cut(target, "/")
	}
	if _, err := l.Exact().Workspace(target); err == nil {
		return target, "", false
	} else if _, none := errors.AsType[noneError](err); !none {
		return target, "", false
	}
	last := strings.LastIndexByte(target, '/')
	if last < strings.IndexByte(target, '@') {
		return target, "", false
	}
	return target[:last], target[last+1:], true
}

// IsSession reports whether a TARGET has the form of a session: a session's id or
// WORKSPACE/SESSION.
func (l List) IsSession(target string) bool {
	_, _, ok := l.parts(target)
	return ok || terminal.CheckID(target) == nil && strings.HasPrefix(target, "s")
}

// SessionsOf returns the sessions of a workspace, in l's order.
func (l List) SessionsOf(w api.Workspace) []api.Session {
	var of []api.Session
	for _, s := range l.Sessions {
		if s.WorkspaceID == w.ID && s.Runtime == w.Runtime { // a runtime may say any id
			of = append(of, s)
		}
	}
	return of
}

// Session finds the session that a TARGET means: WORKSPACE, WORKSPACE/SESSION
// or a session id. WORKSPACE means its only live session, or if none is live
// its only session. If several are live the error names them.
func (l List) Session(target string) (api.Session, error) {
	for _, s := range l.Sessions {
		if s.ID == target {
			return s, nil
		}
	}
	name, sub, hasSub := l.parts(target)
	w, err := l.Workspace(name)
	if err != nil {
		if terminal.CheckID(target) == nil {
			return api.Session{}, noneError("there is no session " + target + "; `middleman ls --all --sessions` lists them")
		}
		return api.Session{}, err
	}
	all := l.SessionsOf(w)
	if hasSub {
		called := make([]string, len(all))
		for i, s := range all {
			if called[i] = s.Name; s.ID == sub {
				return s, nil
			}
		}
		if at := index(sub, called, l.exact); at >= 0 {
			return all[at], nil
		}
		return api.Session{}, fmt.Errorf("workspace %s has no session %q%s", w.Label, sub, naming(all))
	}
	live := live(all)
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) == 0 && len(all) == 1:
		return all[0], nil
	case len(all) == 0 && w.DeletedAt != nil:
		return api.Session{}, fmt.Errorf("workspace %s is deleted, and no transcript of its sessions is kept", w.Label)
	case len(all) == 0:
		return api.Session{}, fmt.Errorf("workspace %s has no session; `middleman run %s` starts one", w.Label, w.Label)
	case len(live) == 0 && w.DeletedAt == nil:
		return api.Session{}, fmt.Errorf("workspace %s has several ended sessions%s; `middleman run %s` starts another", w.Label, naming(all), w.Label)
	case len(live) == 0:
		return api.Session{}, fmt.Errorf("workspace %s has several ended sessions%s", w.Label, naming(all))
	}
	return api.Session{}, &severalError{w, live}
}

// naming lists the possible names of sessions, as the end of an error message.
func naming(sessions []api.Session) string {
	if len(sessions) == 0 {
		return ""
	}
	return ": name one of " + strings.Join(labels(sessions), ", ")
}

// Shown returns the workspace that arg names with all its sessions, or the
// session that it names with its workspace.
func (l List) Shown(arg string) (api.Shown, error) {
	if w, err := l.Workspace(arg); err == nil {
		sessions := cli.NotNil(l.SessionsOf(w))
		w.Sessions = nil
		return api.Shown{Workspace: w, Sessions: sessions}, nil
	}
	s, err := l.Session(arg)
	if err != nil {
		return api.Shown{}, err
	}
	shown := api.Shown{Sessions: []api.Session{s}}
	if w, err := l.Exact().Workspace(s.WorkspaceID); err == nil {
		w.Sessions = nil
		shown.Workspace = w
	}
	return shown, nil
}
