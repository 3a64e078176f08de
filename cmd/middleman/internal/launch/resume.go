package launch

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
)

func (c commands) resumeCommand() *cobra.Command {
	var session sessionFlags
	cmd := &cobra.Command{
		Use:   "resume TARGET [-d]",
		Short: "Continue the conversation of an ended session, and attach",
		Long: `Continue the conversation of an ended session, and attach.

The session must have been started with the profile of an agent (new -p claude): a
shell or a command keeps no conversation. Its program is started again in the same
workspace, on the same conversation, in a session of its own: after a reboot, or when
the program was ended. The ended session stays, with what it printed.
After a reboot ` + "`middleman ls --sessions`" + ` lists which agents "can be resumed", until they
are resumed or stopped.
` + "`middleman profile show NAME`" + ` prints the command.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := session.checkAttach(c); err != nil {
				return err
			}
			return c.resume(cmd.Context(), given[0], session)
		},
	}
	session.addOthers(cmd.Flags())
	return cmd
}

// resume starts the program of an ended session again, and prints the session
// or attaches to it.
func (c commands) resume(ctx context.Context, target string, session sessionFlags) error {
	in, err := session.request(c, nil)
	if err != nil {
		return err
	}
	server, list, err := catalog.Open(ctx, c.CLI)
	if err != nil {
		return err
	}
	defer server.Close()
	ended, err := list.Session(target)
	if err != nil {
		return err
	}
	s, err := server.ResumeSession(ctx, ended.ID, *in)
	if err != nil {
		return err
	}
	if c.Runtime != "" {
		s.WorkspaceName = ended.WorkspaceName
	}
	workspaces.ExplainHost(c.CLI, catalog.Label(s), s.Note)
	return c.Print(s, func() error {
		if session.detached {
			fmt.Fprintln(c.Out, catalog.Label(s))
			return nil
		}
		return sessions.Attach(ctx, c.CLI, s)
	})
}
