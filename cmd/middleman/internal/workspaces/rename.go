package workspaces

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

func (c commands) renameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename TARGET NAME",
		Short: "Give a workspace or a session another name",
		Long: `Give a workspace (WORKSPACE) or a session (WORKSPACE/SESSION) another name. Only
the name changes: path, branch and running programs stay as they are. So the
directory of a workspace keeps the name that it was made with.`,
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.rename(cmd.Context(), given[0], given[1])
		},
	}
}

func (c commands) rename(ctx context.Context, target, name string) error {
	server, list, err := catalog.Open(ctx, c.CLI)
	if err != nil {
		return err
	}
	defer server.Close()
	if list.IsSession(target) {
		s, err := list.Session(target)
		if err == nil {
			s, err = server.RenameSession(ctx, s.ID, name)
		}
		if err != nil {
			return err
		}
		s.WorkspaceName = c.Target(s.WorkspaceName)
		return c.Print(map[string]any{"session": s}, func() error {
			_, err := fmt.Fprintln(c.Out, catalog.Label(s))
			return err
		})
	}
	w, err := list.Workspace(target)
	if err == nil {
		w, err = server.RenameWorkspace(ctx, w.ID, name)
	}
	if err != nil {
		return err
	}
	w = catalog.OnRuntime(c.CLI, api.Created{Workspace: w}).Workspace
	return c.Print(map[string]any{"workspace": w}, func() error {
		_, err := fmt.Fprintln(c.Out, w.Label)
		return err
	})
}
