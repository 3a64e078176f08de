package workspaces

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workers"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/workspace"
)

func (c commands) rmCommand() *cobra.Command {
	var (
		consent client.Consent
		dryRun  bool
		force   bool // which people try
	)
	cmd := &cobra.Command{
		Use:     "rm WORKSPACE... [--discard-work] [--stop-sessions] [--skip-teardown] [--workers] [--forget-transcripts] [-n]",
		Aliases: []string{"remove"},
		Short:   "Delete a workspace; refused if that would lose work or stop sessions",
		Long: `Delete a workspace; refused if that would lose work or stop sessions. Each of
several is judged by itself: a refused one does not keep the others from being deleted.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if force {
				return cli.Usagef("rm has no --force: --discard-work consents to losing work, --stop-sessions to ending what runs, and -n shows which are needed")
			}
			return c.remove(cmd.Context(), given, consent, dryRun)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&consent.DiscardWork, "discard-work", false, "delete even if work would be lost")
	flags.BoolVar(&consent.StopSessions, "stop-sessions", false, "stop running sessions, then delete")
	flags.BoolVar(&consent.SkipTeardown, "skip-teardown", false, "do not run the repository's teardown")
	flags.BoolVar(&consent.Workers, "workers", false, "first delete the workspaces that its workers have inside this one, with the same flags")
	flags.BoolVar(&consent.ForgetTranscripts, "forget-transcripts", false, "do not keep the transcripts of its sessions")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "only print what would be lost")
	flags.BoolVarP(&force, "force", "f", false, "")
	flags.Lookup("force").Hidden = true
	return cmd
}

// remove deletes workspaces, one after the other.
func (c commands) remove(ctx context.Context, names []string, consent client.Consent, dryRun bool) error {
	server, list, err := catalog.OpenWorkspaces(ctx, c.CLI)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := os.Chdir("/"); err != nil { // else our own directory would keep the workspace in use
		return err
	}
	done := "deleted"
	if dryRun {
		done = "inspected"
	}
	r := removal{commands: c, server: server, consent: consent, dryRun: dryRun}
	var results []removed
	err = c.Each(ctx, names, done, func(name string) error {
		var result removed
		w, err := list.Exact().Workspace(name)
		if err == nil {
			if len(names) > 1 && !c.JSON {
				to := c.Errs
				if dryRun {
					to = c.Out
				}
				fmt.Fprintf(to, "%s:\n", w.Label)
			}
			result, err = r.one(ctx, w)
		}
		result.Name = name
		if err != nil && result.Refused == nil {
			result.Error = cli.Message(err)
		}
		results = append(results, result)
		return err
	})
	switch {
	case !c.JSON:
		return err
	case len(names) > 1:
		return errors.Join(err, c.PrintJSON(map[string]any{"results": results}))
	case results[0].Refused != nil:
		return errors.Join(err, c.PrintJSON(map[string]any{"refused": results[0].Refused}))
	case results[0].Deleted != nil:
		return errors.Join(err, c.PrintJSON(results[0].Deleted))
	}
	return err
}

// removed is what became of one workspace, for --json.
type removed struct {
	Name    string       `json:"name"`
	Deleted *deleted     `json:"deleted,omitempty"`
	Refused *api.Problem `json:"refused,omitempty"`
	Error   string       `json:"error,omitempty"`
}

type deleted struct {
	DryRun bool `json:"dry_run"`
	api.Deleted
}

// removal is one run of rm.
type removal struct {
	commands
	server  *client.Client
	consent client.Consent
	dryRun  bool
}

// one deletes one workspace, and prints what goes with it or why it stays.
func (c removal) one(ctx context.Context, w api.Workspace) (removed, error) {
	doing := "deleting"
	if c.dryRun {
		doing = "inspecting"
	}
	var d api.Deleted
	err := c.Progress(doing).During(ctx, c.server, w.ID, func() (err error) {
		d, err = c.server.DeleteWorkspace(ctx, w.ID, c.consent, c.dryRun)
		c.onRuntime(&d)
		return err
	})
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return c.refused(w, p, err)
	}
	if err != nil {
		if !c.dryRun {
			err = cli.Interrupted(err, fmt.Sprintf("the server goes on deleting %s unless it refuses to; `middleman ls` shows whether it is gone, `middleman restore %s` brings its work back", w.Label, w.Label))
		}
		return removed{}, err
	}
	if c.JSON {
		c.Warn(d.Warnings...)
	} else {
		c.printDeleted(d, c.dryRun)
	}
	return removed{Deleted: &deleted{c.dryRun, d}}, nil
}

// onRuntime makes the names in d what one types here.
func (c commands) onRuntime(d *api.Deleted) {
	d.Workspace.Label = c.Target(d.Workspace.Label)
	if d.RestoreAs != "" {
		d.RestoreAs = c.Target(d.RestoreAs)
	}
	for i := range d.Workers {
		c.onRuntime(&d.Workers[i])
	}
}

// refused prints why a workspace stays, and returns the error for that.
func (c removal) refused(w api.Workspace, p *api.Problem, err error) (removed, error) {
	if p.Code == api.CodeNotFound { // it existed a moment ago
		return removed{}, fmt.Errorf("workspace %s was deleted meanwhile", w.Label)
	}
	if c.JSON && (p.Lost != nil || len(p.Sessions) > 0 || len(p.Workers) > 0) {
		return removed{Refused: p}, err
	}
	c.explainRefusal(p)
	if p.Code == api.CodeUnknownLoss && (c.dryRun || !c.consent.DiscardWork) {
		err = fmt.Errorf("%w (rm --discard-work deletes it nevertheless, unless no snapshot can be kept of it either)", err)
	}
	return removed{}, err
}

// Forecast returns what rm would delete with the workspace that has this id, as
// rm -n prints it, and the flags of rm that consent to it.
func Forecast(ctx context.Context, c *cli.CLI, id string) (text string, flags []string, err error) {
	server, w, err := catalog.OnServer(ctx, c, id)
	if err != nil {
		return "", nil, err
	}
	defer server.Close()
	d, err := server.DeleteWorkspace(ctx, w.ID, client.Consent{}, true)
	if err != nil {
		return "", nil, err
	}
	if !d.Lost.Empty() {
		flags = append(flags, "--discard-work")
	}
	if len(d.Stopped) > 0 {
		flags = append(flags, "--stop-sessions")
	}
	var printed bytes.Buffer
	quiet := c.To(&printed, &printed)
	commands{quiet}.printDeleted(d, true)
	err = errors.Join(quiet.Out.Flush(), quiet.Errs.Flush())
	return printed.String(), flags, err
}

// printDeleted prints what was or would be deleted with a workspace, its
// workers first.
func (c commands) printDeleted(d api.Deleted, dryRun bool) {
	for _, inner := range d.Workers {
		if dryRun {
			fmt.Fprintf(c.Out, "worker %s\n", plaintext.Line(inner.Workspace.Label))
		} else {
			fmt.Fprintf(c.Errs, "gone: worker %s\n", plaintext.Line(inner.Workspace.Label))
		}
		c.printDeleted(inner, dryRun)
	}
	c.Warn(d.Warnings...)
	lines := LossLines(d.Lost)
	if dryRun {
		switch {
		case len(lines) == 0 && d.Workspace.Mode == workspace.ModeInPlace:
			fmt.Fprintf(c.Out, "nothing would be lost: of workspace %s only the record would go\n", d.Workspace.Label)
		case len(lines) == 0:
			fmt.Fprintf(c.Out, "nothing would be lost: workspace %s is clean\n", d.Workspace.Label)
		}
		for _, session := range sessionLines(d.Stopped) {
			lines = append(lines, "would be stopped: "+session)
		}
		for _, command := range d.Teardown {
			lines = append(lines, "would be run: "+plaintext.Line(command))
		}
		for _, line := range append(lines, forecastLines(d)...) {
			fmt.Fprintln(c.Out, line)
		}
		return
	}
	for _, line := range LossLines(withoutStashes(d.Lost)) {
		fmt.Fprintln(c.Errs, "gone:", line)
	}
	for _, stash := range d.Lost.Stashed {
		if strings.HasPrefix(stash, workspace.InSandbox) {
			continue
		}
		fmt.Fprintln(c.Errs, "stays in the repository: stash", plaintext.Line(stash))
	}
	for _, line := range sessionLines(d.Stopped) {
		fmt.Fprintln(c.Errs, "stopped:", line)
	}
	if stays := stays(d.Workspace); stays != "" {
		fmt.Fprintln(c.Errs, "stays:", stays)
	}
	for _, line := range d.Unkept {
		fmt.Fprintln(c.Errs, "not kept:", line)
	}
	if what := "all of it"; d.Restorable {
		if len(d.Unkept) > 0 {
			what = "the rest"
		}
		fmt.Fprintf(c.Errs, "kept: `middleman restore %s` brings %s back, at any time\n", plaintext.Line(cmp.Or(d.RestoreAs, d.Workspace.Label)), what)
	}
	if n := d.Transcripts; n.Sessions > 0 {
		fmt.Fprintf(c.Errs, "kept: %s; `middleman prune --transcripts %s` removes them\n", transcriptsText(n.Sessions, n.Bytes), plaintext.Line(cmp.Or(d.RestoreAs, d.Workspace.Label)))
	}
	if n := d.Transcripts.Gone; n > 0 {
		fmt.Fprintln(c.Errs, "not kept:", transcriptsText(n, 0))
	}
}

// transcriptsText says how many transcripts there are, and how much disk space they
// take unless that is 0.
func transcriptsText(sessions int, bytes int64) string {
	text := fmt.Sprintf("transcripts of %d sessions", sessions)
	if sessions == 1 {
		text = "the transcript of 1 session"
	}
	if bytes > 0 {
		text += " (" + plaintext.Bytes(bytes) + ")"
	}
	return text
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
		lines = append(lines, fmt.Sprintf("would be kept: `middleman restore %s` would bring %s back", plaintext.Line(d.Workspace.Label), what))
	}
	if stays := stays(d.Workspace); stays != "" {
		lines = append(lines, "would stay: "+stays)
	}
	if n := d.Transcripts; n.Sessions > 0 {
		lines = append(lines, "would be kept: "+transcriptsText(n.Sessions, n.Bytes)+"; --forget-transcripts does not keep them")
	}
	if n := d.Transcripts.Gone; n > 0 {
		lines = append(lines, "would not be kept: "+transcriptsText(n, 0))
	}
	return lines
}

// stays returns what a deletion of w leaves because it is the user's, or "".
func stays(w api.Workspace) string {
	switch {
	case w.Mode == workspace.ModeInPlace:
		return "directory " + plaintext.Line(w.Root) + ", which is yours"
	case w.Branch != "" && !w.OwnBranch:
		return "branch " + plaintext.Line(w.Branch) + ", which was not made for this workspace"
	}
	return ""
}

// withoutStashes returns l without its stashes, which stay where they are: all worktrees of
// a repository share them, but not those of a sandbox.
func withoutStashes(l workspace.Loss) workspace.Loss {
	l.Stashed = slices.DeleteFunc(slices.Clone(l.Stashed), func(stash string) bool { return !strings.HasPrefix(stash, workspace.InSandbox) })
	return l
}

// explainRefusal lists what a deletion would lose, and the flags that consent.
func (c commands) explainRefusal(p *api.Problem) {
	if p.Lost != nil && !p.Lost.Empty() {
		for _, line := range LossLines(p.Lost.Work()) {
			fmt.Fprintln(c.Errs, "would be lost:", line)
		}
		fmt.Fprintln(c.Errs, "--discard-work consents to that")
		if n := len(LossLines(*p.Lost)) - len(LossLines(p.Lost.Work())); n > 0 {
			fmt.Fprintf(c.Errs, "rm -n lists all, %s more, and what would be kept\n", plaintext.Count(n, "line"))
		}
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
		lines[i] = "session " + plaintext.Line(catalog.Label(s))
		if s.State != terminal.StateRunning {
			lines[i] += " (" + attention.State(s) + ")"
		}
	}
	return lines
}
