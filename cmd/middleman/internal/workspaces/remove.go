package workspaces

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workers"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

func (c commands) rmCommand() *cobra.Command {
	var (
		consent client.Consent
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "rm WORKSPACE [--discard-work] [--stop-sessions] [--skip-teardown] [--workers] [-n]",
		Short: "Delete a workspace; refused if that would lose work or stop sessions",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.remove(cmd.Context(), given[0], consent, dryRun)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&consent.DiscardWork, "discard-work", false, "delete even if work would be lost")
	flags.BoolVar(&consent.StopSessions, "stop-sessions", false, "stop running sessions, then delete")
	flags.BoolVar(&consent.SkipTeardown, "skip-teardown", false, "do not run the repository's teardown")
	flags.BoolVar(&consent.Workers, "workers", false, "first delete the workspaces that its workers have inside this one, with the same flags")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "only print what would be lost")
	return cmd
}

func (c commands) remove(ctx context.Context, name string, consent client.Consent, dryRun bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	list, err := catalog.OfServer(ctx, server)
	if err != nil {
		return err
	}
	w, err := list.Workspace(name)
	if err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil { // else our own directory would keep the workspace in use
		return err
	}
	doing := "deleting"
	if dryRun {
		doing = "inspecting"
	}
	var deleted api.Deleted
	err = c.Progress(doing).During(ctx, server, w.ID, func() (err error) {
		deleted, err = server.DeleteWorkspace(ctx, w.ID, consent, dryRun)
		return err
	})
	if p, ok := errors.AsType[*api.Problem](err); ok {
		if p.Code == api.CodeNotFound { // it existed a moment ago
			return fmt.Errorf("workspace %s was deleted meanwhile", w.Name)
		}
		if c.JSON && (p.Lost != nil || len(p.Sessions) > 0 || len(p.Workers) > 0) {
			return errors.Join(err, c.PrintJSON(map[string]any{"refused": p}))
		}
		c.explainRefusal(p)
		if p.Code == api.CodeUnknownLoss && (dryRun || !consent.DiscardWork) {
			return fmt.Errorf("%w (rm --discard-work deletes it nevertheless, unless no snapshot can be kept of it either)", err)
		}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		c.printWarnings(deleted)
	}
	return c.Print(struct {
		DryRun bool `json:"dry_run"`
		api.Deleted
	}{dryRun, deleted}, func() error {
		c.printDeleted(deleted, dryRun)
		return nil
	})
}

func (c commands) printWarnings(d api.Deleted) {
	for _, warning := range d.Warnings {
		fmt.Fprintln(c.Errs, "middleman:", plaintext.Line(warning))
	}
}

// printDeleted prints what was or would be deleted with a workspace, its
// workers first.
func (c commands) printDeleted(d api.Deleted, dryRun bool) {
	for _, inner := range d.Workers {
		if dryRun {
			fmt.Fprintf(c.Out, "worker %s\n", plaintext.Line(inner.Workspace.Name))
		} else {
			fmt.Fprintf(c.Errs, "gone: worker %s\n", plaintext.Line(inner.Workspace.Name))
		}
		c.printDeleted(inner, dryRun)
	}
	c.printWarnings(d)
	lines := append(LossLines(d.Lost), sessionLines(d.Stopped)...)
	if dryRun {
		for _, command := range d.Teardown {
			lines = append(lines, "would be run: "+plaintext.Line(command))
		}
		for _, line := range append(lines, forecastLines(d)...) {
			fmt.Fprintln(c.Out, line)
		}
		return
	}
	for _, line := range lines {
		fmt.Fprintln(c.Errs, "gone:", line)
	}
	for _, line := range d.Unkept {
		fmt.Fprintln(c.Errs, "not kept:", line)
	}
	if what := "all of it"; d.Restorable {
		if len(d.Unkept) > 0 {
			what = "the rest"
		}
		fmt.Fprintf(c.Errs, "kept: `middleman restore %s` brings %s back, at any time\n", plaintext.Line(d.Workspace.Name), what)
	}
}

// forecastLines says what a deletion would keep.
func forecastLines(d api.Deleted) []string {
	var lines []string
	for _, line := range d.Unkept {
		lines = append(lines, "would not be kept: "+plaintext.Line(line))
	}
	if what := "all of it"; d.Restorable {
		if len(d.Unkept) > 0 {
			what = "the rest"
		}
		lines = append(lines, fmt.Sprintf("would be kept: `middleman restore %s` would bring %s back", plaintext.Line(d.Workspace.Name), what))
	}
	return lines
}

// explainRefusal lists what a deletion would lose, and the flags that consent.
func (c commands) explainRefusal(p *api.Problem) {
	if p.Lost != nil && !p.Lost.Empty() {
		for _, line := range LossLines(*p.Lost) {
			fmt.Fprintln(c.Errs, "would be lost:", line)
		}
		fmt.Fprintln(c.Errs, "--discard-work consents to that")
	}
	if p.Code == api.CodeHasWorkers {
		workers.Explain(c.CLI, p.Workers)
	}
	if len(p.Sessions) > 0 {
		for _, line := range sessionLines(p.Sessions) {
			fmt.Fprintln(c.Errs, "would be stopped:", line)
		}
		fmt.Fprintln(c.Errs, "--stop-sessions consents to that")
	}
}

func sessionLines(sessions []api.Session) []string {
	lines := make([]string, len(sessions))
	for i, s := range sessions {
		lines[i] = fmt.Sprintf("session %s (%s)", plaintext.Line(catalog.Label(s)), catalog.State(s))
	}
	return lines
}
