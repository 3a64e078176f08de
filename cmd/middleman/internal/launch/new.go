package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/internal/runtime"
	"middleman/terminal"
	"middleman/workspace"
)

// newFlags are the flags of new.
type newFlags struct {
	session         sessionFlags
	dir, mode       string
	base, branch    string
	filters, inside bool
	in              string
	withoutASession bool
	attach, suffix  bool
}

func (f *newFlags) add(flags *pflag.FlagSet) {
	f.session.add(flags)
	flags.BoolVarP(&f.attach, "attach", "A", false, "attach to workspace NAME of this repository, or make it if there is none")
	flags.BoolVar(&f.suffix, "suffix", false, "if the repository has a workspace NAME already, make NAME-2, NAME-3 and so on")
	flags.StringVarP(&f.dir, "directory", "C", ".", "use `DIR` instead of the current directory; RUNTIME:DIR makes the workspace on a remote runtime")
	flags.StringVar(&f.mode, "mode", string(workspace.ModeWorktree), "worktree (of the repository), directory (a new, empty one) or in-place (the current directory)")
	flags.StringVar(&f.base, "base", "", "start at this branch, tag, commit, pr:N or mr:N, or at default, the default branch (default: the current HEAD)")
	flags.StringVar(&f.branch, "branch", "", "use this branch, local or of a remote, or make it if there is none (default: a new one, made from the workspace's name)")
	flags.BoolVar(&f.inside, "in-repository", false, "make the worktree in .middleman/work of the repository")
	flags.StringVar(&f.in, "in-directory", "", "make the worktree at REPOSITORY/NAME in `DIR`")
	flags.BoolVar(&f.filters, "filters", false, "run the programs that the repository's own git configuration names: filters and transport")
	flags.BoolVar(&f.withoutASession, "no-session", false, "start no session in it")
}

// request checks the command line and returns the request for the server.
func (f *newFlags) request(c commands, names, command []string) (in api.NewWorkspace, err error) {
	if len(names) > 1 {
		return in, cli.Usagef("new takes one NAME; put a command after --")
	}
	if f.attach && len(names) == 0 {
		return in, cli.Usagef("-A needs a NAME to look for")
	}
	if f.suffix && (f.attach || len(names) == 0) {
		return in, cli.Usagef("--suffix needs a NAME, and no -A")
	}
	switch workspace.Mode(f.mode) {
	case workspace.ModeWorktree, workspace.ModeDirectory, workspace.ModeInPlace:
	default:
		return in, cli.Usagef("mode %q is not worktree, directory or in-place", f.mode)
	}
	if f.withoutASession {
		if len(command) > 0 {
			return in, cli.Usagef("--no-session starts nothing, so it takes no command")
		}
		f.session.detached = true
	}
	if err := f.session.checkAttach(c); err != nil {
		return in, err
	}
	abs, err := c.Directory(f.dir)
	if err != nil {
		return in, err
	}
	in = api.NewWorkspace{Mode: workspace.Mode(f.mode), Directory: abs, Base: f.base, Branch: f.branch, Filters: f.filters, Suffix: f.suffix}
	if in.Place, err = f.place(); err != nil {
		return in, err
	}
	if len(names) == 1 {
		in.Name = names[0]
	}
	if !f.withoutASession {
		in.Session, err = f.session.request(c, command)
	}
	return in, err
}

// place returns where the worktree is to be made, "" where the settings say.
func (f *newFlags) place() (string, error) {
	switch {
	case f.in != "" && f.inside:
		return "", cli.Usagef("--in-directory and --in-repository name two places: give one")
	case f.inside:
		return string(workspace.LocationRepository), nil
	case f.in == "":
		return "", nil
	}
	return cli.Absolute(f.in)
}

func (c commands) newCommand() *cobra.Command {
	var f newFlags
	cmd := &cobra.Command{
		Use:   "new [NAME] [-d] [-A] [-C DIR] [--mode worktree|directory|in-place] [-- COMMAND... | -p PROFILE [-- PROMPT]]",
		Short: "Make a workspace from the current directory's repository, and attach",
		Long: `Make a workspace from the current directory's repository, and attach.

The worktree is on a new branch PREFIX/NAME. --branch BRANCH names another, and
NAME feature/x means branch feature/x and workspace feature-x. If such a branch
exists it is used: a local one that no other worktree has, else a remote's, which
a local one then tracks. rm deletes only a branch that was made for the workspace.

With -A it attaches to the workspace NAME of this repository if there is one: to
the session used last, or to a new one if none runs.

A NAME that this repository has already is refused, except with -A or --suffix,
which makes NAME-2. Names that come from a branch and names that you did not give
get such a number by themselves. Other repositories may have a workspace NAME too:
then each is NAME@REPOSITORY.`,
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			c.Runtime, f.dir = runtime.Split(f.dir)
			in, err := f.request(c, names, command)
			if err != nil {
				return err
			}
			if f.attach {
				return c.createOrAttach(cmd.Context(), in, f.session.detached)
			}
			return c.create(cmd.Context(), in, f.session.detached)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// create makes a workspace, and prints it or attaches to its session.
func (c commands) create(ctx context.Context, in api.NewWorkspace, detached bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := c.nameBundle(ctx, server, in.Session); err != nil {
		return err
	}
	progress := c.Progress("making")
	created, err := server.CreateWorkspace(ctx, in, progress.Workspace)
	progress.End()
	if err != nil {
		return progress.Making(err)
	}
	created = catalog.OnRuntime(c.CLI, created)
	workspaces.ExplainSkipped(c.CLI, created.Workspace)
	var failed error
	if s := created.Session; s != nil && s.State == terminal.StateFailed {
		failed = fmt.Errorf("workspace %s was made, but its session did not start: %s", created.Workspace.Label, s.Error)
	} else if why := refused(created); in.Session != nil && s == nil && why != "" {
		failed = fmt.Errorf("workspace %[1]s was made and stays, but its session was refused: %[2]s; `middleman run %[1]s` starts another, `middleman rm %[1]s` removes it", created.Workspace.Label, why)
	}
	c.tellNotes(created.Workspace)
	return errors.Join(failed, c.printCreated(created, func() error {
		switch {
		case failed != nil:
			return nil
		case detached || created.Session == nil:
			fmt.Fprintln(c.Out, created.Workspace.Label)
			return nil
		}
		return sessions.Attach(ctx, c.CLI, *created.Session)
	}))
}

// refused returns why the first session of a workspace was refused, or "".
func refused(created api.Created) string {
	for _, stage := range created.Workspace.Stages {
		if stage.Name == "session" && stage.State == "failed" {
			return cmp.Or(plaintext.Line(stage.Detail), "the reason is not known")
		}
	}
	return ""
}

// printCreated prints a workspace and its session, without what only show
// prints.
func (c commands) printCreated(created api.Created, text func() error) error {
	created.Workspace.Sessions, created.Workspace.Stages = nil, nil
	return c.Print(created, text)
}
