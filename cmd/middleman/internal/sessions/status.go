package sessions

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/plaintext"
)

func (c commands) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status TARGET",
		Short: "Tell whether a coding agent works, waits for you, or is idle",
		Long: `Tell whether the program of a session works, waits for you, is idle, or has ended.

It is told from the present screen and the terminal's title, by rules that the
profile of the program has (` + "`middleman profile list`" + `), never from output that has
scrolled away. Where no rule matches, the state is unknown. ` + "`status explain TARGET`" + `
prints what was looked at, and the rule that decided.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return c.status(cmd.Context(), given[0], false) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "explain TARGET", Short: "Print the state, the rule and what was looked at", Args: cli.Args(cobra.ExactArgs(1)),
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
	report, err := agent.Profiles(c.Config.Profiles, nil).For(t.Shown.Profile, t.Shown.Argv).Look(ctx, t.Session)
	if err != nil {
		return fmt.Errorf("look at %s: %w", t.Label(), err)
	}
	return c.Print(report, func() error {
		text := string(report.State)
		if report.Reason != "" {
			text += ": " + report.Reason
		}
		fmt.Fprintln(c.Out, plaintext.Line(text))
		if !explain {
			return nil
		}
		for _, line := range []struct{ what, is string }{
			{"profile", report.Profile}, {"source", report.Source}, {"rule", report.Rule}, {"title", report.Title},
		} {
			if line.is != "" {
				fmt.Fprintf(c.Out, "%-9s%s\n", line.what, plaintext.Line(line.is))
			}
		}
		for _, row := range report.Screen {
			fmt.Fprintln(c.Out, "|", plaintext.Line(row))
		}
		return nil
	})
}
