package launch

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workers"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/runtime"
)

func (c commands) spawnCommand() *cobra.Command {
	var (
		session            sessionFlags
		isolation, dir, of string
		suffix             bool
	)
	cmd := &cobra.Command{
		Use:   "spawn [NAME] [--suffix] [-d] [-C DIR] [--isolation worktree|shared] [--parent TARGET] -- COMMAND... | -p PROFILE [-- PROMPT]",
		Short: "Start a worker of a session, from inside it",
		Long: `Start a worker of the session that this command runs in.

With isolation worktree the worker has a worktree of its own, on a branch that
begins at the session's HEAD. It is within the scope of the session, or in the
data directory once a sandboxed session was started there. Uncommitted changes
are not in it. With isolation shared it works in the same directory.
Of the environment it gets the allow-list, as with --clean-env, and --env.
Without -d its output is printed as it comes, and its exit code is returned; inside
a sandbox that needs -d. A worker's sandbox is never weaker than that of the session.

With --parent it starts a worker of another session, which may be on a runtime
(RUNTIME:TARGET). The parent's profile decides which workers it may have.`,
		RunE: func(cmd *cobra.Command, given []string) error {
			names, command := splitCommand(cmd, given)
			switch {
			case len(names) > 1:
				return cli.Usagef("spawn takes one NAME; put the command after --")
			case len(command) == 0 && session.profile == "":
				return cli.Usagef("spawn needs a command after --, or a profile")
			case isolation != workers.Worktree && isolation != workers.Shared:
				return cli.Usagef("isolation %q is not worktree or shared", isolation)
			case c.JSON && !session.detached:
				return cli.Usagef("--json needs -d: otherwise standard output carries the worker's output")
			}
			if cli.Sandboxed() && !session.detached {
				return cli.NotSandboxed("the output of a worker (spawn without -d)")
			}
			c.Runtime, of = runtime.Split(of)
			session.env.clean = true
			in, err := session.request(c, command)
			if err != nil {
				return err
			}
			worker := api.NewWorker{Isolation: isolation, Directory: dir, Session: *in}
			if len(names) == 1 {
				worker.Name, worker.Suffix = names[0], suffix
			} else if suffix {
				return cli.Usagef("--suffix needs a NAME")
			}
			return c.spawn(cmd.Context(), of, worker, session.detached)
		},
	}
	flags := cmd.Flags()
	session.add(flags)
	flags.Lookup("detach").Usage = "do not wait for the worker; print only its name"
	flags.BoolVar(&suffix, "suffix", false, "if NAME is taken, use NAME-2, NAME-3 and so on")
	flags.StringVarP(&dir, "directory", "C", "", "start in `DIR`, within the session's scope (default: where the session was started)")
	flags.StringVar(&of, "parent", "", "start a worker of the session `TARGET` instead of this one")
	flags.StringVar(&isolation, "isolation", workers.Worktree, "worktree (a branch of its own) or shared (the session's directory)")
	return cmd
}

// parent returns the id of the session that a worker is started of, and a client that
// may do that: by default one that calls as a process of this session.
func (c commands) parent(ctx context.Context, target string) (*client.Client, string, error) {
	if target == "" && c.Runtime == "" {
		id, err := workers.OwnSession()
		if err != nil {
			return nil, "", err
		}
		server, err := c.asParent(ctx)
		return server, id, err
	}
	if cli.Sandboxed() {
		return nil, "", cli.NotSandboxed("a worker of another session (spawn --parent)")
	}
	server, err := c.Server(ctx)
	if err != nil {
		return nil, "", err
	}
	list, err := catalog.OfServer(ctx, server)
	if err == nil {
		var s api.Session
		if s, err = list.Session(target); err == nil {
			return server, s.ID, nil
		}
	}
	server.Close()
	return nil, "", err
}

// asParent returns a client that calls as a process of this session.
func (c commands) asParent(ctx context.Context) (*client.Client, error) {
	token := os.Getenv("MIDDLEMAN_TOKEN")
	if token == "" {
		return nil, errors.New("this is not the terminal of a session (MIDDLEMAN_TOKEN is not set): name the session with --parent TARGET")
	}
	if cli.Sandboxed() {
		return sessions.AsSession(c.CLI, token)
	}
	server, err := c.Server(ctx)
	if err != nil {
		return nil, err
	}
	return server.As(token), nil
}

// spawn starts a worker of the session that target means, "" for this one. It prints
// the worker's name, or its output.
func (c commands) spawn(ctx context.Context, target string, in api.NewWorker, detached bool) error {
	server, parent, err := c.parent(ctx, target)
	if err != nil {
		return err
	}
	defer server.Close()
	spawned, err := server.Spawn(ctx, parent, in)
	if err != nil {
		return err
	}
	made := catalog.OnRuntime(c.CLI, api.Created{Workspace: spawned.Workspace, Session: &spawned.Session})
	spawned.Workspace, spawned.Session = made.Workspace, *made.Session
	c.Warn(spawned.Warnings...)
	spawned.Workspace.Sessions, spawned.Workspace.Stages = nil, nil
	return c.Print(spawned, func() error {
		switch {
		case detached && spawned.Isolation == workers.Shared:
			fmt.Fprintln(c.Out, catalog.Label(spawned.Session))
			return nil
		case detached:
			fmt.Fprintln(c.Out, spawned.Workspace.Label)
			return nil
		}
		return sessions.Follow(ctx, c.CLI, spawned.Session)
	})
}
