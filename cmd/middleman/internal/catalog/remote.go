package catalog

import (
	"context"
	"errors"
	"io"
	"time"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/terminal"
)

// remote is a session of CLI.Runtime, which is not "". Each call gets a client of the server, which
// is started where none runs, so a viewer comes back after the server was killed.
type remote struct {
	c  *cli.CLI
	id string
}

// do calls f with the session through the server.
func (r remote) do(ctx context.Context, f func(terminal.Session) error) error {
	server, err := r.c.Server(ctx)
	if err != nil {
		return errors.Join(terminal.ErrUnreachable, err)
	}
	return f(server.Session(r.id))
}

func (r remote) Status(ctx context.Context) (st terminal.Status, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { st, err = s.Status(ctx); return err })
	return st, err
}

func (r remote) Attach(ctx context.Context, o terminal.AttachOptions) (a terminal.Attachment, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { a, err = s.Attach(ctx, o); return err })
	return a, err
}

func (r remote) Input(ctx context.Context, p []byte) error {
	return r.do(ctx, func(s terminal.Session) error { return s.Input(ctx, p) })
}

func (r remote) Type(ctx context.Context, p []byte, e terminal.Expect) (offset uint64, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { offset, err = s.Type(ctx, p, e); return err })
	return offset, err
}

func (r remote) Capture(ctx context.Context, o terminal.CaptureOptions) (c terminal.Capture, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { c, err = s.Capture(ctx, o); return err })
	return c, err
}

func (r remote) Output(ctx context.Context, from uint64) (out io.ReadCloser, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { out, err = s.Output(ctx, from); return err })
	return out, err
}

func (r remote) OffsetAt(ctx context.Context, t time.Time) (offset uint64, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { offset, err = s.OffsetAt(ctx, t); return err })
	return offset, err
}

func (r remote) Recording(ctx context.Context) (out io.ReadCloser, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { out, err = s.Recording(ctx); return err })
	return out, err
}

func (r remote) Environment(ctx context.Context) (list []terminal.Variable, err error) {
	err = r.do(ctx, func(s terminal.Session) (err error) { list, err = s.Environment(ctx); return err })
	return list, err
}

func (r remote) LinkAgent(context.Context, string) error { return nil }

func (r remote) Stop(ctx context.Context, grace time.Duration) error {
	return r.do(ctx, func(s terminal.Session) error { return s.Stop(ctx, grace) })
}

func (r remote) Remove(ctx context.Context) error {
	return r.do(ctx, func(s terminal.Session) error { return s.Remove(ctx) })
}

// Labelled puts the name of c.Runtime before the labels of workspaces there.
func Labelled(c *cli.CLI, all []api.Workspace) []api.Workspace {
	return List{Workspaces: all}.on(c.Runtime).Workspaces
}

// OnRuntime puts the name of c.Runtime before the labels of what was made there.
func OnRuntime(c *cli.CLI, created api.Created) api.Created {
	list := List{Workspaces: []api.Workspace{created.Workspace}}
	if created.Session != nil {
		list.Sessions = []api.Session{*created.Session}
	}
	list = list.on(c.Runtime)
	created.Workspace = list.Workspaces[0]
	if created.Session != nil {
		created.Session = &list.Sessions[0]
	}
	return created
}
