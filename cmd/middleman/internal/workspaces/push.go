package workspaces

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

func (c commands) pushCommand() *cobra.Command {
	var (
		in    api.Push
		force bool
	)
	cmd := &cobra.Command{
		Use:   "push [WORKSPACE] [--remote REMOTE] [--force-with-lease] [--filters] [-n]",
		Short: "Push a workspace's branch, and print the link for a new pull request",
		Long: `Push the branch of a workspace to the branch of that name at a remote, and make that
its upstream. Without WORKSPACE it is the one you stand in. Without --remote it is the
remote that git would push to, else origin, else the only one. The link for a new pull
request is the one that the remote prints, or follows from the form of its URL.

Commits of the remote that the branch never had are not overwritten: push has no
--force. After an amend or a rebase --force-with-lease replaces those that the branch
had before. No hook of the repository runs. git asks
for no password: it uses your SSH agent and your credential helpers.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if force {
				return cli.Usagef("push has no --force: --force-with-lease replaces the remote's branch, unless that has commits that this one never had")
			}
			name, err := optionalWorkspace(given)
			if err != nil {
				return err
			}
			return c.push(cmd.Context(), name, in)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Remote, "remote", "", "push to `REMOTE`")
	flags.BoolVar(&in.ForceWithLease, "force-with-lease", false, "replace the remote's branch, if that is at a commit that this branch has had")
	flags.BoolVarP(&force, "force", "f", false, "")
	flags.Lookup("force").Hidden = true
	flags.BoolVar(&in.Filters, "filters", false, "let programs run that the repository's configuration names to reach the remote, and hooks of a remote on this machine")
	flags.BoolVarP(&in.DryRun, "dry-run", "n", false, "only print what would be pushed where")
	return cmd
}

func (c commands) push(ctx context.Context, name string, in api.Push) error {
	server, w, err := c.standingOn(ctx, name)
	if err != nil {
		return err
	}
	defer server.Close()
	if c.Runtime == "" { // the agent of this machine stays here
		in.Agent = os.Getenv(terminal.AgentVariable)
	}
	var out api.Pushed
	err = c.Progress("pushing").During(ctx, server, w.ID, func() (err error) {
		out, err = server.PushWorkspace(ctx, w.ID, in)
		return err
	})
	if err != nil {
		return err
	}
	c.Warn(out.Warnings...)
	return c.Print(out, func() error {
		c.printPushed(out)
		return nil
	})
}

// printPushed says what was, or would be, pushed. The link alone goes to standard
// output.
func (c commands) printPushed(p api.Pushed) {
	commits := "no commit that it lacks"
	if p.Commits > 0 {
		commits = plaintext.Count(p.Commits, "commit")
	}
	said := fmt.Sprintf("%s pushed to %s (%s): %s at %s", p.Branch, p.Upstream, p.Done, commits, cli.Short(p.Head))
	if p.DryRun {
		said = fmt.Sprintf("%s would be pushed to %s: %s at %s", p.Branch, p.Upstream, commits, cli.Short(p.Head))
	}
	fmt.Fprintln(c.Errs, plaintext.Line(said))
	if p.Link != "" {
		fmt.Fprintln(c.Out, plaintext.Line(p.Link))
	}
}
