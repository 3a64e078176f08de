package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"middleman/cmd/middleman/internal/build"
	"middleman/internal/audit"
	"middleman/internal/client"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/tmux"
	"middleman/workspace"
)

// Server returns a client of the server, or of CLI.Runtime by the server. If no
// server runs it starts one in the background and waits until it answers. The
// caller closes the client.
func (c *CLI) Server(ctx context.Context) (*client.Client, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own executable: %w", err)
	}
	launch := exec.CommandContext(ctx, exe, "serve", "--background")
	server, err := client.Ensure(ctx, c.Dirs, launch)
	if err != nil {
		return nil, err
	}
	return server.On(c.Runtime), nil
}

// WithServer calls f with a client as Server returns it, and closes the client.
func (c *CLI) WithServer(ctx context.Context, f func(context.Context, *client.Client) error) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	return f(ctx, server)
}

// Backends returns all backends, in the order in which "auto" tries them.
func (c *CLI) Backends() []terminal.Backend {
	return []terminal.Backend{c.Owners(c.TmuxServer()), c.Owners(nil)}
}

// TmuxServer returns the private tmux server. It need not run.
func (c *CLI) TmuxServer() *tmux.Server {
	return tmux.New(tmux.Options{
		Sessions: c.Dirs.Sessions(), Runtime: c.Dirs.Sockets(), Config: c.Dirs.Config,
		HistoryLines: c.Config.Terminal.HistoryLines,
	})
}

// Owners returns the backend for sessions on the host h. nil means a PTY that
// the owner holds itself.
func (c *CLI) Owners(h host.Provider) *ptyowner.Backend {
	return ptyowner.New(ptyowner.Options{
		Data: c.Dirs.Data, Sessions: c.Dirs.Sessions(), Runtime: c.Dirs.Sockets(), Build: build.Version(), Host: h,
	})
}

// Manager returns the manager of the workspaces in our base directory.
func (c *CLI) Manager() *workspace.Manager {
	return workspace.New(workspace.Options{Base: c.Dirs.Workspaces(), Prefix: c.Config.BranchPrefix, Location: workspace.Location(c.Config.Workspaces), Hidden: c.Dirs.WithSockets()})
}

// Record writes an event of package audit to the audit log, for a command that
// acts on a session without the server. what names the session. err is the
// command's error, or nil.
func (c *CLI) Record(event, what string, err error) {
	uid := os.Geteuid()
	r := audit.Record{Event: event, What: what, Outcome: audit.OK, By: audit.By{Kind: "command", UID: &uid, PID: os.Getpid()}}
	if err != nil {
		r.Outcome, r.Detail = audit.Failed, err.Error()
	}
	log := audit.New(c.Dirs.Data, func(err error) { fmt.Fprintf(c.Errs, "middleman: the audit log: %v\n", err) })
	log.Write(r)
	log.Close()
}
