package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

func (c commands) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status TARGET",
		Short: "Tell whether a coding agent works, waits for you, or is idle",
		Long: `Tell whether the program of a session works, waits for you, is idle, or has ended.

The state comes from the present screen, the terminal's title and the progress that
the program reports (OSC 9;4), by rules of the
program's profile (` + "`middleman profile list`" + `), and from what the program's
hooks report; never from output that has scrolled away, or that stands above the line
in which the program takes its next prompt. A title never ends what a hook says the
program waits for: a later hook does, or that line. Where nothing matches, or the screen
may show a dialog that no rule knows, the state is unknown. Hooks need a running server;
without one the reason says so, unless the screen leaves no doubt. ` + "`status explain TARGET`" + ` prints
the screen and title, and the rule or the hook that decided.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return c.status(cmd.Context(), given[0], false) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "explain TARGET", Short: "Print the state, the rule that decided it, and the screen that it matched", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return c.status(cmd.Context(), given[0], true) },
	})
	return cmd
}

// status prints what the program of a session does, and if explain why that is
// believed.
func (c commands) status(ctx context.Context, target string, explain bool) error {
	t, err := catalog.Find(ctx, c.CLI, target)
	if err != nil {
		return err
	}
	report, err := c.report(ctx, t)
	if err != nil {
		return fmt.Errorf("look at %s: %w", t.Label(), err)
	}
	return c.Print(report, func() error {
		text := report.Text()
		if report.Reason != "" {
			text += ": " + report.Reason
		}
		fmt.Fprintln(c.Out, plaintext.Line(text))
		if !explain {
			return nil
		}
		for _, line := range []struct{ what, is string }{
			{"profile", report.Profile}, {"source", report.Source}, {"rule", report.Rule}, {"confidence", report.Confidence},
			{"since", age(report.Since)}, {"hook", saidBy(report.Heard)}, {"title", report.Title}, {"progress", report.Progress},
		} {
			if line.is != "" {
				fmt.Fprintf(c.Out, "%-12s%s\n", line.what, plaintext.Line(line.is))
			}
		}
		for _, row := range report.Screen {
			fmt.Fprintln(c.Out, "|", plaintext.Line(row))
		}
		return nil
	})
}

// report asks the server, which knows what hooks have said. Without a server it
// looks at the screen alone.
func (c commands) report(ctx context.Context, t catalog.Target) (agent.Report, error) {
	server, err := c.Connect(ctx)
	if err == nil {
		defer server.Close()
		return server.AgentStatus(ctx, t.Shown.ID)
	}
	if c.Runtime != "" || !errors.Is(err, client.ErrNoServer) {
		return agent.Report{}, err
	}
	return catalog.LookAt(ctx, c.CLI, t.Session, t.Shown)
}

// age says how long ago it was, "" for the zero time.
func age(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return cli.Age(since) + " ago"
}

// saidBy describes what a hook said, "" for none.
func saidBy(heard *agent.Status) string {
	if heard == nil {
		return ""
	}
	return heard.Rule + ", " + age(heard.Since) + ": " + heard.Text()
}
