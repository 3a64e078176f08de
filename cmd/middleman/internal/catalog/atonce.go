package catalog

import (
	"context"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/terminal"
)

// onceTimeout is how long a server may take to answer what atOnce asks, and
// elsewhereTimeout that about other machines, which it waits two seconds for.
const (
	onceTimeout      = time.Second
	elsewhereTimeout = 3 * time.Second
)

// atOnce calls ask with a client of the running server. It does not ask first
// whether the server answers, which is half of the time of a short command. Where it
// returns an error, the caller takes the longer way, which finds out why. ask only
// reads.
func atOnce(ctx context.Context, c *cli.CLI, limit time.Duration, ask func(context.Context, *client.Client) error) error {
	if c.Runtime != "" {
		return client.ErrNoServer
	}
	server, err := client.Open(c.Dirs)
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx, server)
}

// findAtOnce finds the session that arg means by one request, for that workspace
// alone. ok is false if arg is no whole name of a workspace, or if it does not tell
// which session is meant.
func findAtOnce(ctx context.Context, c *cli.CLI, arg string, exact bool) (s api.Session, ok bool) {
	if strings.Contains(arg, "@") || terminal.CheckID(arg) == nil {
		return s, false
	}
	name, _, _ := strings.Cut(arg, "/")
	if name == "" {
		return s, false
	}
	err := atOnce(ctx, c, onceTimeout, func(ctx context.Context, server *client.Client) error {
		of, err := server.RecordedSessionsOf(ctx, name)
		if err != nil || len(of) == 0 {
			return err
		}
		list := List{Sessions: of, exact: exact}
		list.Workspaces = []api.Workspace{{ID: of[0].WorkspaceID, Name: name, Label: of[0].WorkspaceName}}
		s, err = list.Session(arg)
		ok = err == nil
		return err
	})
	return s, ok && err == nil
}
