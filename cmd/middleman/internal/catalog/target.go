package catalog

import (
	"context"
	"fmt"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/terminal"
)

// Target is a session that the command line named: its description, and the way
// to it without the server.
type Target struct {
	Shown   api.Session
	Session terminal.Session
}

// Label returns the user's name for the session: WORKSPACE/SESSION, or its id.
func (t Target) Label() string { return Label(t.Shown) }

// Find finds the session that arg means: WORKSPACE, WORKSPACE/SESSION or a
// session's id. It needs no server. The result reaches the session through its
// backend. Find asks sessions for their states only if the records do not tell
// which session is meant, so the state that it returns may be old.
func Find(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	if s, ok := findAtOnce(ctx, c, arg, false); ok {
		return Direct(c, s)
	}
	return find(ctx, c, func(l List) (api.Session, error) { return l.Session(arg) })
}

// FindExact is Find for a command that destroys something, see List.Exact.
func FindExact(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	if s, ok := findAtOnce(ctx, c, arg, true); ok {
		return Direct(c, s)
	}
	return find(ctx, c, func(l List) (api.Session, error) { return l.Exact().Session(arg) })
}

// find is Find for the session that choose returns.
func find(ctx context.Context, c *cli.CLI, choose func(List) (api.Session, error)) (Target, error) {
	server, err := connect(ctx, c)
	if err != nil {
		return Target{}, err
	}
	if server == nil {
		return search(c, choose, func() (List, error) { return Records(ctx, c) }, func() (List, error) { return Disk(ctx, c) })
	}
	defer server.Close()
	return search(c, choose, func() (List, error) { return recordsOfServer(ctx, server) }, func() (List, error) { return OfServer(ctx, server) })
}

// Recorded is Readable, to read a session's kept output. It reads the database
// before it asks the server, so it also works while the server hangs.
func Recorded(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	if c.Runtime != "" {
		return Readable(ctx, c, arg)
	}
	choose := func(l List) (api.Session, error) { return l.Session(arg) }
	list, known, err := rows(ctx, c)
	t, err := search(c, choose,
		func() (List, error) { return list, err },
		func() (List, error) { return list, addUnrecorded(ctx, c, &list, known) },
		func() (List, error) { return Read(ctx, c) })
	return orDeleted(ctx, c, arg, t, err)
}

// search returns the session that choose returns for the first of the lists for
// which it returns one. The error is that of the last list.
func search(c *cli.CLI, choose func(List) (api.Session, error), lists ...func() (List, error)) (Target, error) {
	var last error
	for _, read := range lists {
		list, err := read()
		if err == nil {
			var s api.Session
			if s, err = choose(list); err == nil {
				return Direct(c, s)
			}
		}
		last = err
	}
	return Target{}, last
}

// Direct returns the Target for s, which uses the backend that s was recorded
// with and not the server. On a runtime it uses the server.
func Direct(c *cli.CLI, s api.Session) (Target, error) {
	if s.Runtime != "" && s.Runtime != c.Runtime {
		c = c.On(s.Runtime)
	}
	if c.Runtime != "" {
		return Target{Shown: s, Session: remote{c, s.ID}}, nil
	}
	b, err := backend(c, s.Backend)
	if err != nil {
		return Target{}, err
	}
	return Target{Shown: s, Session: b.Session(s.ID)}, nil
}

// backend returns the backend with that name.
func backend(c *cli.CLI, name string) (terminal.Backend, error) {
	for _, b := range c.Backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("this version of middleman has no backend %q", name)
}

// Label returns the user's name for a session: WORKSPACE/SESSION, or its id.
func Label(s api.Session) string {
	if s.WorkspaceName == "" {
		return s.ID
	}
	return s.WorkspaceName + "/" + s.Name
}

// Unseen returns the mark that tmux gives a session: "!" for a bell that nobody
// has heard, "#" for output that nobody has seen.
func Unseen(s api.Session) string {
	switch {
	case s.Unseen == nil || s.Unseen.Bytes == 0:
		return ""
	case s.Unseen.Bell:
		return "!"
	}
	return "#"
}
