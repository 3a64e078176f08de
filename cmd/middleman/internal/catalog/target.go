package catalog

import (
	"context"
	"fmt"
	"path/filepath"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/terminal"
)

// Target is a session that a command line named: what is known of it, and the
// way to it past the server.
type Target struct {
	Shown   api.Session
	Session terminal.Session
}

// Label is what a user calls the session: WORKSPACE/SESSION, or its id.
func (t Target) Label() string { return Label(t.Shown) }

// Find finds the session that arg means: WORKSPACE, WORKSPACE/SESSION or a
// session's id. It needs no server, and the session is driven through its
// backend from then on.
func Find(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	list, err := Read(ctx, c)
	if err != nil {
		return Target{}, err
	}
	s, err := list.Session(arg)
	if err != nil {
		return Target{}, err
	}
	return Direct(c, s)
}

// Recorded finds the session that arg means, to read what is kept of it. No
// session is asked how it is, unless the records alone do not tell which is
// meant: one whose owner or tmux hangs is read like any other.
func Recorded(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	list, err := Records(ctx, c)
	if err == nil {
		var s api.Session
		if s, err = list.Session(arg); err == nil {
			return Direct(c, s)
		}
	}
	return Find(ctx, c, arg)
}

// Direct is the way to a session past the server, through the backend that it
// was recorded with.
func Direct(c *cli.CLI, s api.Session) (Target, error) {
	b, err := backend(c, s.Backend)
	if err != nil {
		return Target{}, err
	}
	return Target{Shown: s, Session: b.Session(s.ID)}, nil
}

func joinSub(root, sub string) string {
	if sub == "" {
		return root
	}
	return filepath.Join(root, sub)
}

// backend returns the backend that a session was recorded with.
func backend(c *cli.CLI, name string) (terminal.Backend, error) {
	for _, b := range c.Backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("this version knows no backend %q", name)
}

// Label is what a user calls a session: WORKSPACE/SESSION, or its id.
func Label(s api.Session) string {
	if s.WorkspaceName == "" {
		return s.ID
	}
	return s.WorkspaceName + "/" + s.Name
}

// State is a session's state in words, and how it exited.
func State(s api.Session) string {
	switch {
	case s.Exit == nil:
		return string(s.State)
	case s.Exit.Signal != 0:
		return fmt.Sprintf("%s (%s)", s.State, s.Exit.SignalName)
	}
	return fmt.Sprintf("%s (%d)", s.State, s.Exit.Code)
}
