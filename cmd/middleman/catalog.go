package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

const (
	probeTimeout = 3 * time.Second // for one session's owner to answer
	probes       = 16              // at the same time
)

// catalog is what there is, by name: from the server where it answers, else
// from the database and the state directories.
type catalog struct {
	workspaces []api.Workspace
	sessions   []api.Session
}

// readCatalog lists all workspaces and sessions. It starts no server.
func (c commands) readCatalog(ctx context.Context) (catalog, error) {
	return c.readCatalogBy(ctx, (*client.Client).Workspaces)
}

// readCatalogBy has list ask the server for the workspaces.
func (c commands) readCatalogBy(ctx context.Context, list func(*client.Client, context.Context) ([]api.Workspace, error)) (catalog, error) {
	server, err := client.Connect(ctx, c.Dirs)
	if err == nil {
		defer server.Close()
		return listServerBy(ctx, server, list)
	}
	if ctx.Err() != nil {
		return catalog{}, ctx.Err()
	}
	if !errors.Is(err, client.ErrNoServer) {
		fmt.Fprintf(c.Errs, "middleman: %v; looking at the disk instead\n", err)
	}
	return c.listDisk(ctx)
}

func listServer(ctx context.Context, server *client.Client) (catalog, error) {
	return listServerBy(ctx, server, (*client.Client).Workspaces)
}

func listServerBy(ctx context.Context, server *client.Client, list func(*client.Client, context.Context) ([]api.Workspace, error)) (catalog, error) {
	workspaces, err := list(server, ctx)
	if err != nil {
		return catalog{}, err
	}
	sessions, err := server.Sessions(ctx)
	return catalog{workspaces, sessions}, err
}

// listDisk is listRecords with what each session's backend says of it now.
func (c commands) listDisk(ctx context.Context) (catalog, error) {
	list, err := c.listRecords(ctx)
	if err != nil {
		return catalog{}, err
	}
	c.refresh(ctx, list.sessions, list.names())
	return list, nil
}

// listRecords reads the database, whether a server runs or not. Sessions that
// only a backend knows are listed too; it asks none of them anything.
func (c commands) listRecords(ctx context.Context) (catalog, error) {
	var list catalog
	known := map[string]bool{}
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return catalog{}, err
	default:
		defer db.Close()
		c.nameBadRows(ctx, db)
		all := store.Page{Limit: -1}
		rows, _, err := db.Workspaces(ctx, all)
		if err != nil {
			return catalog{}, err
		}
		for _, w := range rows {
			shown := shownWorkspace(w)
			shown.Problem = server.Trouble(c.Manager(), w)
			list.workspaces = append(list.workspaces, shown)
		}
		names := list.names()
		sessions, _, err := db.Sessions(ctx, "", all)
		if err != nil {
			return catalog{}, err
		}
		for _, s := range sessions {
			known[s.ID] = true
			list.sessions = append(list.sessions, shownSession(s, names[s.WorkspaceID]))
		}
	}
	return list, c.addUnrecorded(ctx, &list, known)
}

// nameBadRows says which rows of the database are passed over.
func (c commands) nameBadRows(ctx context.Context, db *store.Store) {
	bad, err := db.BadRows(ctx)
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: %v\n", err)
	}
	for _, row := range bad {
		fmt.Fprintf(c.Errs, "middleman: a row of %s is passed over, its id is none: %s\n", c.Dirs.Database(), row)
	}
}

// names are those of the workspaces, by id.
func (l catalog) names() map[string]string {
	names := map[string]string{}
	for _, w := range l.workspaces {
		names[w.ID] = w.Name
	}
	return names
}

// addUnrecorded appends the sessions that only a backend knows. A backend
// that cannot say is named and passed over.
func (c commands) addUnrecorded(ctx context.Context, list *catalog, known map[string]bool) error {
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
				list.sessions = append(list.sessions, api.Session{ID: id, Name: id, Backend: b.Name()})
			}
		}
	}
	return nil
}

// refresh asks the backends how each session is, several at a time.
func (c commands) refresh(ctx context.Context, sessions []api.Session, names map[string]string) {
	byName := map[string]terminal.Backend{}
	for _, b := range c.Backends() {
		byName[b.Name()] = b
	}
	slots := make(chan struct{}, probes)
	var wg sync.WaitGroup
	for i := range sessions {
		b, ok := byName[sessions[i].Backend]
		if !ok || sessions[i].State.Ended() {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			refreshOne(ctx, b, &sessions[i], names)
		})
	}
	wg.Wait()
}

func refreshOne(ctx context.Context, b terminal.Backend, s *api.Session, names map[string]string) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	status, err := b.Session(s.ID).Status(ctx)
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
	s.State, s.PID, s.Offset, s.Size = status.State, status.PID, status.Head, status.Size
	s.Title, s.Writer, s.Watchers, s.Exit = status.Title, status.Writer, status.Watchers, status.Exit
	s.KeepOutput, s.Journal, s.Clipboard = status.JournalBytes, status.Journal, status.Clipboard
	s.Source, s.AsOf = status.Source, status.AsOf
	if status.State == terminal.StateLost && status.Lost != "" {
		s.Error = status.Lost
	}
	if s.WorkspaceID == "" {
		s.WorkspaceID, s.WorkspaceName, s.Argv, s.CreatedAt = status.Workspace, names[status.Workspace], status.Argv, status.StartedAt
	}
}

func shownWorkspace(w workspace.Workspace) api.Workspace {
	return api.Workspace{
		ID: w.ID, Name: w.Name, Mode: w.Mode, Path: joinSub(w.Root, w.Subdir), Root: w.Root,
		Repository: w.Repository, Branch: w.Branch, Base: w.Base, BaseCommit: w.BaseCommit,
		Port: w.Port, Ports: w.Ports, State: w.State, Error: w.Error, CreatedAt: w.CreatedAt,
	}
}

func shownSession(s store.Session, workspaceName string) api.Session {
	out := api.Session{
		ID: s.ID, Name: s.Name, WorkspaceID: s.WorkspaceID, WorkspaceName: workspaceName,
		Backend: s.Backend, State: s.State, Argv: s.Argv, Exit: s.Exit, Error: s.Error,
		CreatedAt: s.CreatedAt, Source: "store", AsOf: time.Now(),
	}
	if s.Exit != nil {
		out.Offset = s.Exit.Offset
	}
	return out
}

// workspace finds a workspace by name or id.
func (l catalog) workspace(target string) (api.Workspace, error) {
	for _, w := range l.workspaces {
		if w.ID == target || w.Name == target {
			return w, nil
		}
	}
	return api.Workspace{}, fmt.Errorf("there is no workspace %q", target)
}

func (l catalog) sessionsOf(workspaceID string) []api.Session {
	var of []api.Session
	for _, s := range l.sessions {
		if s.WorkspaceID == workspaceID {
			of = append(of, s)
		}
	}
	return of
}

// session finds the session that a TARGET means: WORKSPACE, WORKSPACE/SESSION
// or a session id. A workspace with one live session, or with none and one
// session, stands for it.
func (l catalog) session(target string) (api.Session, error) {
	for _, s := range l.sessions {
		if s.ID == target {
			return s, nil
		}
	}
	name, sub, hasSub := strings.Cut(target, "/")
	w, err := l.workspace(name)
	if err != nil {
		if terminal.CheckID(target) == nil {
			return api.Session{}, fmt.Errorf("there is no session %s", target)
		}
		return api.Session{}, err
	}
	all := l.sessionsOf(w.ID)
	if hasSub {
		for _, s := range all {
			if s.Name == sub || s.ID == sub {
				return s, nil
			}
		}
		return api.Session{}, fmt.Errorf("workspace %s has no session %q%s", w.Name, sub, naming(w, all))
	}
	live := slices.DeleteFunc(slices.Clone(all), func(s api.Session) bool { return s.State.Ended() })
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) == 0 && len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return api.Session{}, fmt.Errorf("workspace %s has no session; `middleman run %s` starts one", w.Name, w.Name)
	case len(live) == 0:
		return api.Session{}, fmt.Errorf("workspace %s has several ended sessions%s", w.Name, naming(w, all))
	}
	return api.Session{}, fmt.Errorf("workspace %s has several sessions%s", w.Name, naming(w, live))
}

// naming lists what sessions may be called, to end an error with.
func naming(w api.Workspace, sessions []api.Session) string {
	if len(sessions) == 0 {
		return ""
	}
	names := make([]string, len(sessions))
	for i, s := range sessions {
		names[i] = w.Name + "/" + s.Name
	}
	return ": name one of " + strings.Join(names, ", ")
}
