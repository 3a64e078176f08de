package catalog

import (
	"context"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
)

// OnServer finds the workspace that name means, for a command that needs the
// server. It starts one where none runs. The caller closes the client.
func OnServer(ctx context.Context, c *cli.CLI, name string) (*client.Client, api.Workspace, error) {
	server, list, err := OpenWorkspaces(ctx, c)
	if err != nil {
		return nil, api.Workspace{}, err
	}
	w, err := list.Workspace(name)
	if err != nil {
		server.Close()
		return nil, api.Workspace{}, err
	}
	return server, w, nil
}

// Open returns the server, which it starts where none runs, and lists what it
// knows. The caller closes the client.
func Open(ctx context.Context, c *cli.CLI) (*client.Client, List, error) {
	return open(ctx, c, OfServer)
}

// OpenWorkspaces is Open without sessions, which the server would ask for their
// states.
func OpenWorkspaces(ctx context.Context, c *cli.CLI) (*client.Client, List, error) {
	return open(ctx, c, func(ctx context.Context, server *client.Client) (list List, err error) {
		list.Workspaces, err = server.Workspaces(ctx)
		return list.on(server.Runtime()), err
	})
}

func open(ctx context.Context, c *cli.CLI, read func(context.Context, *client.Client) (List, error)) (*client.Client, List, error) {
	server, err := c.Server(ctx)
	if err != nil {
		return nil, List{}, err
	}
	list, err := read(ctx, server)
	if err != nil {
		server.Close()
		return nil, List{}, err
	}
	return server, list, nil
}
