package workspaces

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/workspace"
)

// mergeFlags are the flags of merge.
type mergeFlags struct {
	api.Merge
	rebase, squash, rm, keep, stop bool
}

func (c commands) mergeCommand() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge [WORKSPACE] [--into BRANCH] [--rebase | --squash] [-m MESSAGE] [--rm [--stop-sessions] | --keep] [-n]",
		Short: "Merge a workspace's commits into its base branch",
		Long: `Merge a workspace's commits into its base branch, or into another one. Without
WORKSPACE it is the one you stand in. First the check of .middleman.toml runs in the
workspace, if you agreed to that file; if it fails nothing is merged. Where the branch
is checked out, its files are brought up to date with it.

The workspace stays as it is: --rebase and --squash put new commits on the branch, and
leave those of the workspace. At the end the command asks whether to delete the
workspace, and then whether to stop its sessions. Without a terminal it does not ask:
--rm deletes the workspace, and --stop-sessions stops its sessions before.

Nothing changes if the workspace has changes that are not committed, if there are
conflicts, or if the merge would touch changes where the branch is checked out.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			name, err := optionalWorkspace(given)
			if err != nil {
				return err
			}
			switch {
			case f.rebase:
				f.Strategy = string(workspace.StrategyRebase)
			case f.squash:
				f.Strategy = string(workspace.StrategySquash)
			}
			switch {
			case f.rebase && f.squash:
				return cli.Usagef("give --rebase or --squash, not both")
			case f.rm && (f.keep || f.DryRun):
				return cli.Usagef("--rm cannot be combined with --keep or --dry-run")
			case f.stop && !f.rm:
				return cli.Usagef("--stop-sessions goes with --rm")
			case f.rebase && f.Message != "":
				return cli.Usagef("--message cannot be combined with --rebase, which keeps the messages of the commits")
			}
			return c.merge(cmd.Context(), name, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Into, "into", "", "merge into `BRANCH` instead of the base")
	flags.BoolVar(&f.rebase, "rebase", false, "put copies of the commits on top of the branch, without a merge commit")
	flags.BoolVar(&f.squash, "squash", false, "put one commit with all changes on top of the branch")
	flags.StringVarP(&f.Message, "message", "m", "", "the `MESSAGE` of the commit that is made")
	flags.BoolVar(&f.rm, "rm", false, "then delete the workspace")
	flags.BoolVar(&f.stop, "stop-sessions", false, "with --rm: stop its running sessions before")
	flags.BoolVar(&f.keep, "keep", false, "then keep the workspace, without being asked")
	flags.BoolVar(&f.Filters, "filters", false, "in both checkouts, let the filters of the repository's configuration run")
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, "only print what would be merged")
	return cmd
}

// merged is what merge prints as JSON.
type merged struct {
	api.Merged
	Workspace string   `json:"workspace"`
	Removed   *removed `json:"removed,omitempty"`
}

func (c commands) merge(ctx context.Context, name string, f mergeFlags) error {
	server, w, err := c.standingOn(ctx, name)
	if err != nil {
		return err
	}
	defer server.Close()
	out := merged{Workspace: w.Name}
	err = c.Progress("merging").During(ctx, server, w.ID, func() (err error) {
		out.Merged, err = server.MergeWorkspace(ctx, w.ID, f.Merge)
		return err
	})
	if err != nil {
		return err
	}
	c.Warn(out.Warnings...)
	if !c.JSON {
		c.printMerged(out.Merged)
	}
	if c.removeMerged(w, f) {
		var result removed
		result, err = c.removeAfter(ctx, server, w, out.Merged, f)
		if result.Name = w.Name; err != nil && result.Refused == nil {
			result.Error = cli.Message(err)
		}
		out.Removed = &result
		if err != nil {
			err = fmt.Errorf("it is merged, but the workspace stays: %w (`middleman rm %s` takes the flags that consent)", err, plaintext.Line(w.Label))
		}
	}
	if c.JSON {
		return errors.Join(err, c.PrintJSON(out))
	}
	return err
}

// printMerged says what was, or would be, merged.
func (c commands) printMerged(m api.Merged) {
	branch, into := plaintext.Line(m.Branch), plaintext.Line(m.Into)
	if m.Commits == 0 {
		fmt.Fprintf(c.Out, "nothing to merge: %s has what %s changes\n", into, branch)
		return
	}
	verb, are := "merged", "are"
	if m.DryRun {
		verb, are = "would be merged", "would be"
		for _, command := range m.Check {
			fmt.Fprintln(c.Out, "would be run:", plaintext.Line(command))
		}
	}
	how := ""
	switch {
	case m.FastForward:
		how = ", fast-forward"
	case m.Strategy != workspace.StrategyMerge:
		how = ", " + string(m.Strategy)
	}
	fmt.Fprintf(c.Out, "%s %s into %s: %s%s (%s..%s)\n", branch, verb, into, plaintext.Count(m.Commits, "commit"), how, cli.Short(m.Before), cli.Short(m.After))
	if m.Checkout != "" {
		fmt.Fprintf(c.Errs, "the files in %s, which has %s checked out, %s up to date with it\n", plaintext.Line(m.Checkout), into, are)
	}
}

// removeMerged reports whether to delete a merged workspace. Without a flag it
// asks at the terminal.
func (c commands) removeMerged(w api.Workspace, f mergeFlags) bool {
	switch {
	case f.DryRun || f.keep || f.rm:
		return f.rm
	case viewer.IsTerminal(c.In) && !c.JSON:
		return c.Confirm(fmt.Sprintf("Delete workspace %s? [y/N] ", plaintext.Line(w.Label)))
	}
	fmt.Fprintf(c.Errs, "workspace %s stays: `middleman rm %s` deletes it\n", plaintext.Line(w.Label), plaintext.Line(w.Label))
	return false
}

// removeAfter deletes a workspace that was merged as m says. Its own commits are
// no reason to refuse if the branch has copies of them. It asks at the terminal whether
// running sessions may be stopped, unless f says so.
func (c commands) removeAfter(ctx context.Context, server *client.Client, w api.Workspace, m api.Merged, f mergeFlags) (removed, error) {
	if err := os.Chdir("/"); err != nil { // else our own directory would keep the workspace in use
		return removed{}, err
	}
	r := removal{commands: c, server: server}
	would, err := server.DeleteWorkspace(ctx, w.ID, r.consent, true)
	if err != nil {
		return removed{}, err
	}
	now, err := server.WorkspaceStatus(ctx, w.ID)
	if err != nil {
		return removed{}, err
	}
	if len(would.Lost.Commits) > 0 && now.Status != nil && now.Status.Head == m.Head {
		would.Lost.Commits = nil
		r.consent.DiscardWork = would.Lost.Empty()
	}
	r.consent.StopSessions = f.stop
	if len(would.Stopped) > 0 && !f.stop && viewer.IsTerminal(c.In) && !c.JSON {
		r.consent.StopSessions = c.Confirm(fmt.Sprintf("Stop what runs in it: %s? [y/N] ", strings.Join(sessionLines(would.Stopped), ", ")))
	}
	return r.one(ctx, w)
}
