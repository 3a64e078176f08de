package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/lease"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/workspace"
)

const ephemeralHelp = `run TARGET starts another session in a workspace, and attaches. --name names it.

run --ephemeral -- COMMAND makes a worktree on a branch of its own, runs COMMAND
in it with this standard input, output and error, and returns its exit code. The
command finds MIDDLEMAN_WORKSPACE_PATH, _NAME, _BRANCH, _BASE and _PORT in its
environment, and gets the signals that this process gets. When it has ended, the
workspace is deleted, unless it holds work (changed or untracked files, commits
that are nowhere else) or processes of the command are left: then it stays, and
standard error says where. Files that git ignores are not work.

With --mode directory it is an empty directory, outside any repository. Then each
file in it is work. With --discard-work the workspace is deleted with the work in
it, and "middleman restore" brings that back.`

// disposeTime limits the deletion of an ephemeral workspace, which may be
// large.
const disposeTime = 10 * time.Minute

// notFound is the exit code of a shell for a program that there is not.
const notFound = 127

// ephemeralFlags are the flags of run --ephemeral. Without it, name is the
// session's.
type ephemeralFlags struct {
	on, discard           bool
	dir, base, name, mode string
}

func (f *ephemeralFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "ephemeral", false, "run COMMAND in a new workspace, which is deleted at the end unless it holds work")
	flags.StringVar(&f.mode, "mode", string(workspace.ModeWorktree), "with --ephemeral: what the workspace is, worktree or (an empty) directory")
	flags.BoolVar(&f.discard, "discard-work", false, "with --ephemeral: delete the workspace at the end even if it holds work; \"middleman restore\" brings it back")
	flags.StringVarP(&f.dir, "directory", "C", ".", "with --ephemeral: use `DIR` instead of the current directory")
	flags.StringVar(&f.base, "base", "", "with --ephemeral: start at this branch, tag or commit (default: the current HEAD)")
	flags.StringVar(&f.name, "name", "", "the session's name (default: that of its command); with --ephemeral: the workspace's (default: a generated one)")
}

// refuseAlone refuses flags that have no meaning without --ephemeral.
func (f *ephemeralFlags) refuseAlone(cmd *cobra.Command) error {
	for _, name := range []string{"directory", "base", "mode", "discard-work"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s needs --ephemeral", name)
		}
	}
	return nil
}

// request checks the command line of run --ephemeral.
func (f *ephemeralFlags) request(c commands, cmd *cobra.Command, names, command []string) (api.NewWorkspace, error) {
	if len(names) > 0 || len(command) == 0 {
		return api.NewWorkspace{}, cli.Usagef("run --ephemeral takes no workspace: put a command after --, and name the new workspace with --name")
	}
	var session sessionFlags
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	session.add(others)
	var wrong string
	others.VisitAll(func(flag *pflag.Flag) {
		if cmd.Flags().Changed(flag.Name) {
			wrong = flag.Name
		}
	})
	switch {
	case wrong != "":
		return api.NewWorkspace{}, cli.Usagef("--%s is for sessions, and run --ephemeral starts none: it runs the command on this terminal; leave the flag out", wrong)
	case c.JSON:
		return api.NewWorkspace{}, cli.Usagef("--json cannot be used with --ephemeral: standard output belongs to the command")
	}
	in := api.NewWorkspace{Name: f.name, Mode: workspace.Mode(f.mode), Base: f.base, Ephemeral: true}
	switch in.Mode {
	case workspace.ModeWorktree:
		var err error
		in.Directory, err = cli.Absolute(f.dir)
		return in, err
	case workspace.ModeDirectory:
		for _, name := range []string{"directory", "base"} {
			if cmd.Flags().Changed(name) {
				return in, cli.Usagef("--%s is for worktrees, and --mode directory makes an empty directory", name)
			}
		}
		return in, nil
	}
	return in, cli.Usagef("--mode is %q: with --ephemeral it must be worktree or directory", f.mode)
}

// runEphemeral makes the workspace, runs the command and deletes the workspace.
// An interrupt before the command runs also deletes it. Later interrupts are
// for the command.
func (c commands) runEphemeral(cmd *cobra.Command, f ephemeralFlags, names, command []string) error {
	c.AttachesNot()
	in, err := f.request(c, cmd, names, command)
	if err != nil {
		return err
	}
	program := command[0]
	if !strings.ContainsRune(program, filepath.Separator) {
		if program, err = exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(c.Errs, "middleman: %s was not found in PATH; no workspace was made\n", plaintext.Line(command[0]))
			return &cli.ProgramExit{Exit: terminal.Exit{Code: notFound}}
		} else if err != nil {
			return err
		}
	}
	ctx := context.WithoutCancel(cmd.Context())
	w, held, err := c.provision(ctx, in)
	if err != nil {
		return err
	}
	err = cmd.Context().Err()
	if err == nil {
		err = c.foreground(w, held, program, command)
	}
	if problem := c.dispose(ctx, w, held, f.discard); problem != nil {
		fmt.Fprintln(c.Errs, "middleman:", cli.Message(problem))
	}
	return err
}

// provision makes an ephemeral workspace. It takes the lease as soon as the
// workspace has an id, so that prune does not remove it.
func (c commands) provision(ctx context.Context, in api.NewWorkspace) (w api.Workspace, held *lease.Lease, err error) {
	server, err := c.Server(ctx)
	if err != nil {
		return w, nil, err
	}
	defer server.Close()
	var leaseErr error
	take := func(w api.Workspace) {
		if held == nil && leaseErr == nil {
			held, leaseErr = lease.Take(c.Dirs.Leases(), w.ID)
		}
	}
	shown := c.Progress("making")
	created, err := server.CreateWorkspace(ctx, in, func(w api.Workspace) {
		take(w)
		shown.Workspace(w)
	})
	shown.End()
	if err == nil {
		take(created.Workspace)
		w, err = server.Workspace(ctx, created.Workspace.ID)
	}
	err = errors.Join(leaseErr, err)
	if err != nil && held != nil {
		err = errors.Join(err, held.Close())
	}
	return w, held, err
}

// foreground runs the command on our own standard input, output and error. It
// passes on the signals that the terminal does not send to the command.
func (c commands) foreground(w api.Workspace, held *lease.Lease, program string, command []string) error {
	at := workspace.Workspace{Name: w.Name, Root: w.Path, Branch: w.Branch, Base: w.Base, Port: w.Port, Ports: w.Ports}
	run := &exec.Cmd{
		Path: program, Args: command, Dir: w.Path, Env: append(os.Environ(), at.Env()...),
		Stdin: c.In, Stdout: c.BytesOut, Stderr: c.BytesErrs, ExtraFiles: held.Inherited(),
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, handedOn...)
	defer signal.Stop(signals)
	defer c.HandOn()()
	if err := run.Start(); err != nil {
		return fmt.Errorf("run %s in workspace %s: %w", command[0], w.Label, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = run.Process.Signal(s) // an error means that it has ended
			}
		case err := <-ended:
			if run.ProcessState == nil {
				return fmt.Errorf("wait for %s: %w", command[0], err)
			}
			return &cli.ProgramExit{Exit: exitOf(run.ProcessState)}
		}
	}
}

// dispose deletes the workspace, or says why it stays and how to reach it. With
// discard it deletes work too, and says how to get that back.
func (c commands) dispose(ctx context.Context, w api.Workspace, held *lease.Lease, discard bool) error {
	if err := held.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, disposeTime)
	defer cancel()
	server, err := c.Server(ctx)
	if err != nil {
		return fmt.Errorf("workspace %s at %s was not deleted: %w", w.Label, w.Path, err)
	}
	defer server.Close()
	gone, err := server.DeleteWorkspace(ctx, w.ID, client.Consent{DiscardWork: discard}, false)
	p, refused := errors.AsType[*api.Problem](err)
	switch {
	case err == nil && gone.Restorable && !gone.Lost.Empty():
		fmt.Fprintf(c.Errs, "middleman: workspace %s was deleted with %s; `middleman restore %s` brings it back\n", w.Label, gone.Lost.Summary(), w.Label)
		return nil
	case err == nil || refused && p.Code == api.CodeNotFound:
		return nil
	case !refused || p.Lost == nil:
		return fmt.Errorf("workspace %s at %s was not deleted: %w", w.Label, w.Path, err)
	}
	for _, line := range workspaces.LossLines(*p.Lost) {
		fmt.Fprintln(c.Errs, "kept:", line)
	}
	at := w.Path
	if w.Branch != "" {
		at += " on branch " + w.Branch
	}
	return fmt.Errorf("workspace %s holds work, so it stays at %s; `middleman run %s` opens it, `middleman rm %s` deletes it", w.Label, at, w.Label, w.Label)
}
