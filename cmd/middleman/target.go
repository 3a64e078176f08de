package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
)

// target is a session that a command line named, and the way to it.
type target struct {
	shown   api.Session
	session terminal.Session
}

// label is what a user calls the session, fit for the command line.
func (t target) label() string {
	if t.shown.WorkspaceName == "" {
		return t.shown.ID
	}
	return t.shown.WorkspaceName + "/" + t.shown.Name
}

// target finds the session that arg means. It needs no server, and the
// session is driven through its backend from then on.
func (c commands) target(ctx context.Context, arg string) (target, error) {
	list, err := c.readCatalog(ctx)
	if err != nil {
		return target{}, err
	}
	s, err := list.session(arg)
	if err != nil {
		return target{}, err
	}
	return c.direct(s)
}

// recorded finds the session that arg means, to read what is kept of it. No
// session is asked how it is, unless the records alone do not tell which is
// meant: one whose owner or tmux hangs is read like any other.
func (c commands) recorded(ctx context.Context, arg string) (target, error) {
	list, err := c.listRecords(ctx)
	if err == nil {
		var s api.Session
		if s, err = list.session(arg); err == nil {
			return c.direct(s)
		}
	}
	return c.target(ctx, arg)
}

// direct is the way to a session past the server.
func (c commands) direct(s api.Session) (target, error) {
	b, err := c.backend(s.Backend)
	if err != nil {
		return target{}, err
	}
	return target{shown: s, session: b.Session(s.ID)}, nil
}

const (
	askAgainFor   = 3 * time.Second
	askAgainEvery = 50 * time.Millisecond
)

// askAgain calls ask until it gives anything but terminal.ErrUnreachable, for
// a few seconds: an owner may come or go while it is asked, and gives no event
// for that.
func askAgain(ctx context.Context, ask func() error) error {
	deadline := time.NewTimer(askAgainFor)
	defer deadline.Stop()
	tick := time.NewTicker(askAgainEvery)
	defer tick.Stop()
	for {
		err := ask()
		if !errors.Is(err, terminal.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func joinSub(root, sub string) string {
	if sub == "" {
		return root
	}
	return filepath.Join(root, sub)
}

// backend returns the backend that a session was recorded with.
func (c commands) backend(name string) (terminal.Backend, error) {
	for _, b := range c.Backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("this version knows no backend %q", name)
}
