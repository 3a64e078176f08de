package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/workspace"
)

func (c *cli) rmCommand() *cobra.Command {
	var (
		consent client.Consent
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "rm WORKSPACE [--discard-work] [--stop-sessions] [--skip-teardown] [-n]",
		Short: "Delete a workspace; refused where that would lose something",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.remove(cmd.Context(), given[0], consent, dryRun)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&consent.DiscardWork, "discard-work", false, "also where work would be lost")
	flags.BoolVar(&consent.StopSessions, "stop-sessions", false, "also where sessions run")
	flags.BoolVar(&consent.SkipTeardown, "skip-teardown", false, "do not run the repository's teardown")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "only say what would be lost")
	return cmd
}

func (c *cli) remove(ctx context.Context, name string, consent client.Consent, dryRun bool) error {
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
	deleted, err := server.DeleteWorkspace(ctx, w.ID, consent, dryRun)
	if p, ok := errors.AsType[*api.Problem](err); ok {
		if p.Code == api.CodeNotFound { // it was there a moment ago
			return fmt.Errorf("workspace %s was deleted meanwhile", w.Name)
		}
		if c.json && (p.Lost != nil || len(p.Sessions) > 0) {
			return errors.Join(err, c.printJSON(struct {
				schema
				Refused *api.Problem `json:"refused"`
			}{thisSchema(), p}))
		}
		c.explainRefusal(p)
	}
	if err != nil {
		return err
	}
	for _, warning := range deleted.Warnings {
		fmt.Fprintln(c.errs, "middleman:", printable(warning))
	}
	if c.json {
		return c.printJSON(struct {
			schema
			DryRun bool `json:"dry_run"`
			api.Deleted
		}{thisSchema(), dryRun, deleted})
	}
	lines := append(lossLines(deleted.Lost), sessionLines(deleted.Stopped)...)
	if dryRun {
		for _, line := range append(lines, forecastLines(deleted)...) {
			fmt.Fprintln(c.out, line)
		}
		return nil
	}
	for _, line := range lines {
		fmt.Fprintln(c.errs, "gone:", line)
	}
	for _, line := range deleted.Unkept {
		fmt.Fprintln(c.errs, "not kept:", line)
	}
	if what := "all of it"; deleted.Restorable {
		if len(deleted.Unkept) > 0 {
			what = "the rest"
		}
		fmt.Fprintf(c.errs, "kept: `middleman restore %s` brings %s back, at any time\n", printable(w.Name), what)
	}
	return nil
}

// forecastLines say what a deletion would keep of what it would take.
func forecastLines(d api.Deleted) []string {
	var lines []string
	for _, line := range d.Unkept {
		lines = append(lines, "would not be kept: "+printable(line))
	}
	if what := "all of it"; d.Restorable {
		if len(d.Unkept) > 0 {
			what = "the rest"
		}
		lines = append(lines, fmt.Sprintf("would be kept: `middleman restore %s` would bring %s back", printable(d.Workspace.Name), what))
	}
	return lines
}

// explainRefusal lists what a deletion would lose, and the flags that consent.
func (c *cli) explainRefusal(p *api.Problem) {
	if p.Lost != nil && !p.Lost.Empty() {
		for _, line := range lossLines(*p.Lost) {
			fmt.Fprintln(c.errs, "would be lost:", line)
		}
		fmt.Fprintln(c.errs, "--discard-work consents to that")
	}
	if len(p.Sessions) > 0 {
		for _, line := range sessionLines(p.Sessions) {
			fmt.Fprintln(c.errs, "would be stopped:", line)
		}
		fmt.Fprintln(c.errs, "--stop-sessions consents to that")
	}
}

func lossLines(l workspace.Loss) []string {
	var lines []string
	for _, kind := range []struct {
		name  string
		items []string
	}{{"changed", l.Changed}, {"untracked", l.Untracked}, {"stash", l.Stashed}, {"commit", l.Commits},
		{"ignored", l.Ignored}, {"commit of the reflog", l.Abandoned}} {
		for _, item := range kind.items {
			lines = append(lines, kind.name+" "+printable(item))
		}
	}
	if l.Operation != "" {
		lines = append(lines, printable(l.Operation)+" in progress")
	}
	if l.Truncated {
		lines = append(lines, "and more")
	}
	return lines
}

func sessionLines(sessions []api.Session) []string {
	lines := make([]string, len(sessions))
	for i, s := range sessions {
		lines[i] = fmt.Sprintf("session %s (%s)", printable(sessionLabel(s)), stateOf(s))
	}
	return lines
}
