package launch

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
)

func (c commands) runCommand() *cobra.Command {
	var (
		session   sessionFlags
		ephemeral ephemeralFlags
	)
	cmd := &cobra.Command{
		Use:   "run TARGET [-d] [--name NAME] [-- COMMAND... | -p PROFILE [-- PROMPT]] | run --ephemeral [--mode MODE] [-C DIR] [--base REF] [--name NAME] [--discard-work] -- COMMAND...",
		Short: "Start another session in a workspace, and attach; or run a command in a temporary workspace",
		Long:  ephemeralHelp,
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			if ephemeral.on {
				return c.runEphemeral(cmd, ephemeral, names, command)
			}
			if err := ephemeral.refuseAlone(cmd); err != nil {
				return err
			}
			if len(names) != 1 {
				return cli.Usagef("run takes one workspace; put a command after --")
			}
			if err := session.checkAttach(c); err != nil {
				return err
			}
			in, err := session.request(c, command)
			if err != nil {
				return err
			}
			in.Name = ephemeral.name
			return c.start(cmd.Context(), names[0], *in, session.detached)
		},
	}
	session.add(cmd.Flags())
	cmd.Flags().Lookup("detach").Usage = "do not attach; print only the session's id"
	ephemeral.add(cmd.Flags())
	return cmd
}

// start starts a session in an existing workspace, and prints it or attaches.
func (c commands) start(ctx context.Context, name string, in api.NewSession, detached bool) error {
	server, w, err := catalog.OnServer(ctx, c.CLI, name)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := c.nameBundle(ctx, server, &in); err != nil {
		return err
	}
	s, err := server.StartSession(ctx, w.ID, in)
	if err != nil {
		return err
	}
	s.WorkspaceName = c.Target(s.WorkspaceName)
	workspaces.ExplainHost(c.CLI, catalog.Label(s), s.Note)
	return c.printCreated(api.Created{Workspace: w, Session: &s}, func() error {
		if detached {
			fmt.Fprintln(c.Out, c.Target(s.ID))
			return nil
		}
		return sessions.Attach(ctx, c.CLI, s)
	})
}
