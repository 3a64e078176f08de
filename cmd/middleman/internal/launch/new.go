package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/terminal"
	"middleman/workspace"
)

func (c commands) newCommand() *cobra.Command {
	var (
		session         sessionFlags
		dir, mode       string
		base, branch    string
		filters, inside bool
		withoutASession bool
	)
	cmd := &cobra.Command{
		Use:   "new [NAME] [-d] [-C DIR] [--mode worktree|directory|in-place] [-- COMMAND...]",
		Short: "Make a workspace from the current directory's repository, and attach",
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			if len(names) > 1 {
				return cli.Usagef("new takes one NAME; put a command after --")
			}
			switch workspace.Mode(mode) {
			case workspace.ModeWorktree, workspace.ModeDirectory, workspace.ModeInPlace:
			default:
				return cli.Usagef("mode %q is not worktree, directory or in-place", mode)
			}
			if withoutASession {
				if len(command) > 0 {
					return cli.Usagef("--no-session starts nothing, so it takes no command")
				}
				session.detached = true
			}
			if err := session.checkAttach(c); err != nil {
				return err
			}
			abs, err := cli.Absolute(dir)
			if err != nil {
				return err
			}
			in := api.NewWorkspace{Mode: workspace.Mode(mode), Directory: abs, Base: base, Branch: branch, Filters: filters}
			if inside {
				in.Place = string(workspace.LocationRepository)
			}
			if len(names) == 1 {
				in.Name = names[0]
			}
			if !withoutASession {
				if in.Session, err = session.request(c, command); err != nil {
					return err
				}
			}
			return c.create(cmd.Context(), in, session.detached)
		},
	}
	flags := cmd.Flags()
	session.add(flags)
	flags.StringVarP(&dir, "directory", "C", ".", "use `DIR` instead of the current directory")
	flags.StringVar(&mode, "mode", string(workspace.ModeWorktree), "worktree (of the repository), directory (a new, empty one) or in-place (the current directory)")
	flags.StringVar(&base, "base", "", "start at this branch, tag, commit, pr:N or mr:N, or at default, the default branch (default: the current HEAD)")
	flags.StringVar(&branch, "branch", "", "name of the new branch (default: made from the workspace's name)")
	flags.BoolVar(&inside, "in-repository", false, "make the worktree in .middleman/work of the repository")
	flags.BoolVar(&filters, "filters", false, "run the programs that the repository's own git configuration names: filters and transport")
	flags.BoolVar(&withoutASession, "no-session", false, "start no session in it")
	return cmd
}

// create makes a workspace, and prints it or attaches to its session.
func (c commands) create(ctx context.Context, in api.NewWorkspace, detached bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	progress := c.Progress("making")
	created, err := server.CreateWorkspace(ctx, in, progress.Workspace)
	progress.End()
	if err != nil {
		return err
	}
	workspaces.ExplainSkipped(c.CLI, created.Workspace)
	var failed error
	if s := created.Session; s != nil && s.State == terminal.StateFailed {
		failed = fmt.Errorf("workspace %s was made, but its session did not start: %s", created.Workspace.Name, s.Error)
	}
	c.tellNotes(created.Workspace)
	created.Workspace.Sessions, created.Workspace.Stages = nil, nil
	return errors.Join(failed, c.Print(created, func() error {
		switch {
		case failed != nil:
			return nil
		case detached || created.Session == nil:
			fmt.Fprintln(c.Out, created.Workspace.Name)
			return nil
		}
		return sessions.Attach(ctx, c.CLI, *created.Session)
	}))
}
