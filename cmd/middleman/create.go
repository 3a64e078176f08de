package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/terminal"
	"middleman/workspace"
)

// sessionFlags are the flags of every command that starts a session.
type sessionFlags struct {
	detached   bool
	profile    string
	backend    string
	sandbox    string
	cols, rows uint16
	keep       string
	clipboard  terminal.Clipboard
}

func (f *sessionFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.detached, "detach", "d", false, "do not attach; print the name alone")
	flags.StringVarP(&f.profile, "profile", "p", "", `how to launch (default "shell")`)
	flags.StringVar(&f.backend, "backend", "", "what hosts the terminal: auto, tmux or pty-owner")
	flags.StringVar(&f.sandbox, "sandbox", "", `what the session may touch (default "none")`)
	flags.StringVar(&f.keep, "keep-output", "", "how much output to keep at least, such as `64MB` or 0 for all (default: terminal.journal_bytes of config.toml)")
	sessions.ClipboardFlag(flags, &f.clipboard, "the clipboard of who is attached", "terminal.clipboard of config.toml")
	flags.Uint16Var(&f.cols, "cols", 0, "columns (default: those of this terminal)")
	flags.Uint16Var(&f.rows, "rows", 0, "rows (default: those of this terminal)")
}

// request is what to ask the server for.
func (f *sessionFlags) request(c commands, command []string) (*api.NewSession, error) {
	if f.sandbox != "" && f.sandbox != "none" {
		return nil, fmt.Errorf("sandbox level %q is not to be had in this version, which has none only; the session was not started rather than run with less", f.sandbox)
	}
	switch f.backend {
	case "", "auto", "tmux", "pty-owner":
	default:
		return nil, cli.Usagef("backend %q is not auto, tmux or pty-owner", f.backend)
	}
	if err := sessions.CheckClipboard(f.clipboard); err != nil {
		return nil, err
	}
	size := viewer.Size(c.In, c.BytesOut)
	if f.cols != 0 {
		size.Cols = f.cols
	}
	if f.rows != 0 {
		size.Rows = f.rows
	}
	if (size.Cols == 0) != (size.Rows == 0) {
		return nil, cli.Usagef("--cols and --rows go together where there is no terminal")
	}
	in := &api.NewSession{Command: command, Profile: f.profile, Backend: f.backend, Size: size, Clipboard: f.clipboard}
	if f.keep != "" {
		n, err := parseBytes(f.keep)
		if err != nil {
			return nil, cli.Usagef("--keep-output: %w", err)
		}
		in.KeepOutput = &n
	}
	return in, nil
}

// checkAttach refuses, before anything is made, what could not be attached.
func (f *sessionFlags) checkAttach(c commands) error {
	if f.detached {
		return nil
	}
	if c.JSON {
		return cli.Usagef("--json needs -d: an attached session has standard output for itself")
	}
	return sessions.CheckTerminal(c.CLI)
}

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
		Short: "Make a workspace of the repository you stand in, and attach",
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			if len(names) > 1 {
				return cli.Usagef("new takes one NAME; a command goes after --")
			}
			switch workspace.Mode(mode) {
			case workspace.ModeWorktree, workspace.ModeDirectory, workspace.ModeInPlace:
			default:
				return cli.Usagef("mode %q is not worktree, directory or in-place", mode)
			}
			if withoutASession {
				if len(command) > 0 {
					return cli.Usagef("--no-session and a command exclude each other")
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
				in.Place = string(workspace.PlaceRepository)
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
	flags.StringVarP(&dir, "directory", "C", ".", "stand in `DIR` instead of here")
	flags.StringVar(&mode, "mode", string(workspace.ModeWorktree), "worktree, directory (empty, ours) or in-place (this one)")
	flags.StringVar(&base, "base", "", "branch, tag, commit, pr:N, mr:N or default (the default branch) to begin at (default: HEAD here)")
	flags.StringVar(&branch, "branch", "", "name of the new branch (default: made of the workspace's)")
	flags.BoolVar(&inside, "in-repository", false, "make the worktree in .middleman/work of the repository")
	flags.BoolVar(&filters, "filters", false, "let programs run that the repository's own configuration names: filters and transport")
	flags.BoolVar(&withoutASession, "no-session", false, "start nothing in it")
	return cmd
}

// create makes a workspace and prints it or attaches to its session.
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
		failed = fmt.Errorf("workspace %s is made, its session did not start: %s", created.Workspace.Name, s.Error)
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

func (c commands) runCommand() *cobra.Command {
	var (
		session   sessionFlags
		ephemeral ephemeralFlags
	)
	cmd := &cobra.Command{
		Use:   "run TARGET [-d] [-- COMMAND...] | run --ephemeral [-C DIR] [--base REF] [--name NAME] -- COMMAND...",
		Short: "Start one more session in a workspace, and attach; or run a command in a workspace that goes with it",
		Long:  ephemeralHelp,
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			if ephemeral.on {
				return c.runEphemeral(cmd, ephemeral, names, command)
			}
			if err := ephemeral.refuseAlone(cmd); err != nil {
				return err
			}
			if len(names) != 1 {
				return cli.Usagef("run takes one workspace; a command goes after --")
			}
			if err := session.checkAttach(c); err != nil {
				return err
			}
			in, err := session.request(c, command)
			if err != nil {
				return err
			}
			return c.start(cmd.Context(), names[0], *in, session.detached)
		},
	}
	session.add(cmd.Flags())
	ephemeral.add(cmd.Flags())
	return cmd
}

// start starts a session in an existing workspace and prints it or attaches.
func (c commands) start(ctx context.Context, name string, in api.NewSession, detached bool) error {
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
	s, err := server.StartSession(ctx, w.ID, in)
	if err != nil {
		return err
	}
	workspaces.ExplainHost(c.CLI, catalog.Label(s), s.Note)
	w.Sessions, w.Stages = nil, nil
	return c.Print(api.Created{Workspace: w, Session: &s}, func() error {
		if detached {
			fmt.Fprintln(c.Out, s.ID)
			return nil
		}
		return sessions.Attach(ctx, c.CLI, s)
	})
}

// splitCommand cuts what stands after "--" off the arguments.
func splitCommand(cmd *cobra.Command, given []string) (names, command []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return given[:dash], given[dash:]
	}
	return given, nil
}
