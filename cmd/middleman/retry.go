package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/internal/api"
	"middleman/internal/plaintext"
)

func (c *cli) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "retry WORKSPACE",
		Short:             "Try a creation that failed again, from where it failed",
		Args:              args(cobra.ExactArgs(1)),
		ValidArgsFunction: c.completeTarget,
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.retry(cmd.Context(), given[0])
		},
	}
}

func (c *cli) retry(ctx context.Context, name string) error {
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	list, err := listServer(ctx, server)
	if err != nil {
		return err
	}
	w, err := list.workspace(name)
	if err != nil {
		return err
	}
	progress := newProgress(c.bytesErrs, "making")
	created, err := server.RetryWorkspace(ctx, w.ID, progress.workspace)
	progress.end()
	if err != nil {
		return err
	}
	c.tellNotes(created.Workspace)
	created.Workspace.Sessions, created.Workspace.Stages = nil, nil
	return c.print(created, func() error {
		fmt.Fprintln(c.out, created.Workspace.Name)
		return nil
	})
}

// tellNotes says what a checkout has left out, which is no error.
func (c *cli) tellNotes(w api.Workspace) {
	for _, stage := range w.Stages {
		if (stage.Name == "checkout" && stage.State == "done" || stage.Name == "lfs") && stage.Detail != "" {
			fmt.Fprintln(c.errs, "middleman:", plaintext.Line(stage.Detail))
		}
	}
}
