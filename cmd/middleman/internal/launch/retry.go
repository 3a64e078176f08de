package launch

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/sandbox"
)

func (c commands) retryCommand() *cobra.Command {
	var level sandboxFlag
	cmd := &cobra.Command{
		Use:   "retry WORKSPACE [--sandbox LEVEL]",
		Short: "Retry a failed creation, from the step that failed",
		Long: `Retry a failed creation, from the step that failed.

Values of environment variables are not stored. If a shell asked for the workspace,
its first session gets the environment of the shell that asks for the retry.
Variables that --env had named are missing, and the command names them.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := level.check(); err != nil {
				return err
			}
			return c.retry(cmd.Context(), given[0], sandbox.Level(level))
		},
	}
	level.add(cmd.Flags(), "what the first session may touch")
	return cmd
}

func (c commands) retry(ctx context.Context, name string, level sandbox.Level) error {
	server, w, err := catalog.OnServer(ctx, c.CLI, name)
	if err != nil {
		return err
	}
	defer server.Close()
	in := api.Retry{Sandbox: level}
	if c.Runtime == "" { // this shell's environment stays on this machine
		if in.CallerEnv, err = callerEnv(c.CLI, false); err != nil {
			return err
		}
	}
	progress := c.Progress("making")
	created, err := server.RetryWorkspace(ctx, w.ID, in, progress.Workspace)
	progress.End()
	if err != nil {
		return progress.Making(err)
	}
	created = catalog.OnRuntime(c.CLI, created)
	workspaces.ExplainSkipped(c.CLI, created.Workspace)
	c.tellNotes(created.Workspace)
	return c.printCreated(created, func() error {
		fmt.Fprintln(c.Out, created.Workspace.Label)
		return nil
	})
}

// tellNotes prints which branch was found, and what a checkout left out. That is
// no error.
func (c commands) tellNotes(w api.Workspace) {
	for _, stage := range w.Stages {
		told := stage.State == "done" && (stage.Name == "add" || stage.Name == "checkout") || stage.Name == "lfs"
		if told && stage.Detail != "" {
			c.Warn(stage.Detail)
		}
	}
}
