package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/client"
	"middleman/internal/sandbox"
)

// reportTime bounds a report: the agent waits for its hook.
const reportTime = 2 * time.Second

func (c commands) reportCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "report --agent NAME",
		Short: "Tell middleman what a coding agent's hook says (run by the agent)",
		Long: `Tell middleman what a coding agent's hook says.

An agent runs this in its session, as a hook. It reads the hook's JSON on standard
input and tells the server what that says of the agent's state, with the token that
the session has in MIDDLEMAN_TOKEN. It never fails and prints nothing that the agent
would act on: a hook of ours must not disturb the agent. With --verbose it says on
standard error what went wrong.`,
		Args: cli.Args(cobra.NoArgs),
	}
	verbose := cmd.Flags().Bool("verbose", false, "say on standard error what went wrong")
	cmd.Flags().StringVar(&name, "agent", "", "the `NAME` of the agent whose hook this is")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), reportTime)
		defer cancel()
		err := c.reportHook(ctx, name, os.Stdin, time.Now())
		if err != nil && *verbose {
			fmt.Fprintln(c.Errs, "middleman:", err)
		}
		fmt.Fprint(c.Out, agent.HookAnswer(name))
		return nil
	}
	return cmd
}

// reportHook tells the server what the hook of an agent says. at is when the hook
// began.
func (c commands) reportHook(ctx context.Context, name string, in io.Reader, at time.Time) error {
	h, err := agent.Decode(name, in, at)
	if err != nil {
		return err
	}
	session, token, err := ownToken()
	if err != nil {
		return fmt.Errorf("report %s of %s: %w", h.Event, name, err)
	}
	server, err := AsSession(c.CLI, token)
	if err != nil {
		return err
	}
	defer server.Close()
	return server.Report(ctx, session, h)
}

// AsSession returns a client that calls as a process of the session with that
// token, inside a sandbox and outside. The caller closes it.
func AsSession(c *cli.CLI, token string) (*client.Client, error) {
	if cli.Sandboxed() {
		return client.NewConfined(os.Getenv(sandbox.SocketVariable), token), nil
	}
	serve, err := client.ReadServe(c.Dirs)
	if err != nil {
		return nil, err
	}
	return client.New(serve.Socket).As(token), nil
}

// ownToken returns the session that this process runs in, and the token that
// proves it.
func ownToken() (session, token string, err error) {
	session, token = os.Getenv("MIDDLEMAN_SESSION"), os.Getenv("MIDDLEMAN_TOKEN")
	if session == "" || token == "" {
		return "", "", errors.New("this is not the terminal of a session (MIDDLEMAN_SESSION and MIDDLEMAN_TOKEN are not set)")
	}
	return session, token, nil
}
