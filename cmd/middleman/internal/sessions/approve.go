package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/approve"
	"middleman/terminal"
)

const (
	// approveWait is how long the user may take, unless the hook's call says so.
	approveWait = 10 * time.Minute
	// serverWait is how long a hook waits for a server that has ended to be there
	// again.
	serverWait = 20 * time.Second
	retryPause = 250 * time.Millisecond
	maxInput   = 4 << 20 // bytes
)

func (c commands) approveCommand() *cobra.Command {
	var name string
	var wait time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve [ID] [--yes] | --agent NAME [--wait DUR]",
		Short: "Allow a request of a coding agent, once",
		Long: `Allow a request of a coding agent, once. Without an ID it is the only request that
waits (` + "`middleman approvals`" + ` lists them). The request is shown, with the diff of an
edit, and you are asked, unless --yes is given.

With --agent it is the permission hook itself, which the agent runs in its session: it
reads the hook's JSON on standard input and prints the agent's form of an answer. Files
of the worktree and temporary files are allowed at once, and git there; for anything
else it waits for an answer of yours. Without one, and after any error, it prints
nothing: then the agent's own dialog asks. It never allows by mistake or by default.
claude, codex and copilot have hooks that can grant.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch hook := cmd.Flags().Changed("agent"); {
			case hook && (len(given) > 0 || yes):
				return cli.Usagef("--agent makes this the hook of an agent, which takes neither an ID nor --yes")
			case hook:
				return c.approveHook(cmd.Context(), name, wait)
			case cli.Sandboxed():
				return cli.NotSandboxed("approve without --agent")
			case cmd.Flags().Changed("wait"):
				return cli.Usagef("--wait goes with --agent")
			}
			return c.answer(cmd.Context(), given, api.ApprovalAnswer{Decision: string(approve.Allow)}, yes)
		},
	}
	cmd.Flags().StringVar(&name, "agent", "", "be the permission hook of the agent `NAME`")
	cmd.Flags().DurationVar(&wait, "wait", approveWait, "with --agent: how long to wait for an answer of yours")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// errNoReader is the cause of a context of whileRead.
var errNoReader = errors.New("nobody waits for the answer any more")

// approveHook is the permission hook of an agent. Its errors are told on standard
// error, and end with no answer: the agent's own dialog asks.
func (c commands) approveHook(ctx context.Context, name string, wait time.Duration) error {
	if err := approve.CanGrant(name); err != nil {
		return err
	}
	began := time.Now()
	raw, err := io.ReadAll(io.LimitReader(c.In, maxInput))
	if err != nil {
		return fmt.Errorf("read the hook's input: %w", err)
	}
	read, done := whileRead(ctx, c.BytesOut)
	defer done()
	limited, cancel := context.WithTimeout(read, wait)
	defer cancel()
	out, err := c.decide(limited, name, raw)
	switch {
	case err == nil:
		_, err = c.BytesOut.Write(append(out, '\n'))
		return err
	case errors.Is(context.Cause(read), errNoReader):
		return errNoReader
	}
	fmt.Fprintf(c.Errs, "middleman: approve: %s: the agent's own dialog asks\n", cli.Message(err))
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	// The agent waits from now on, as its screen will show; without this report it
	// is only known later.
	_ = c.reportHook(reporting, name, bytes.NewReader(raw), began)
	fmt.Fprint(c.Out, agent.HookAnswer(name))
	return nil
}

// decide returns what the hook of an agent prints. An error means nothing.
func (c commands) decide(ctx context.Context, name string, raw []byte) ([]byte, error) {
	r, err := approve.ReadHook(name, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	session, token, err := ownToken()
	if err != nil {
		return nil, err
	}
	a, err := c.requestApproval(ctx, session, token, api.NewApproval{
		ID: terminal.NewID("a"), Agent: name, Tool: r.Tool, Arguments: r.Arguments, Directory: r.Directory, Path: os.Getenv("PATH"),
		Plans: r.Plans, Aside: r.Aside,
	})
	if err != nil {
		return nil, err
	}
	switch a.State {
	case api.ApprovalAllowed:
		return approve.Answer(name, approve.Allow, "")
	case api.ApprovalDenied:
		return approve.Answer(name, approve.Deny, a.Reason)
	}
	return nil, errors.New("nobody decided")
}

// requestApproval asks the server, and asks again if it ends meanwhile: for the
// same, by the id.
func (c commands) requestApproval(ctx context.Context, session, token string, in api.NewApproval) (api.Approval, error) {
	var lost time.Time
	for {
		began := time.Now()
		a, err := c.requestOnce(ctx, session, token, in)
		p, refused := errors.AsType[*api.Problem](err)
		switch {
		case err == nil, refused && p.Code != api.CodeStopping:
			return a, err
		case ctx.Err() != nil:
			return a, errors.New("no answer in time")
		}
		if lost.IsZero() || time.Since(began) > time.Second { // it was reached in between
			lost = time.Now()
		}
		if time.Since(lost) > serverWait {
			return a, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

func (c commands) requestOnce(ctx context.Context, session, token string, in api.NewApproval) (api.Approval, error) {
	server, err := AsSession(c.CLI, token)
	if err != nil {
		return api.Approval{}, err
	}
	defer server.Close()
	return server.RequestApproval(ctx, session, in)
}
