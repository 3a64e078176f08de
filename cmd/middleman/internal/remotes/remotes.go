// Package remotes has the commands on remote runtimes: runtime, which lists, adds,
// removes and checks them, and connect, which a hub runs on the other machine.
package remotes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/runtime"
)

// Commands returns the commands of this package for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{r.runtimeCommand(), r.connectCommand()}
}

// commands are this package's commands. They share one run of the command line.
type commands struct{ *cli.CLI }

func (c commands) runtimeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runtime add|list|check|install|rm",
		Short: "Manage the other machines whose workspaces this one drives",
		Long: `Manage the other machines whose workspaces this one drives. Each has a middleman of
its own. Commands take RUNTIME:TARGET for what is there: "middleman attach box:fix".
"middleman new -C box:src/project" makes a workspace there; a relative directory
begins at your home directory there. "middleman ls box:" lists.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("runtime needs add, list, check, install or rm")
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List all runtimes, with what the last call on each told", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithServer(cmd.Context(), c.list)
		},
	}
	check := &cobra.Command{
		Use: "check NAME", Short: "Ask a runtime whether it can be used; the exit code is 1 if not", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				r, err := server.CheckRuntime(ctx, given[0])
				if err != nil {
					return err
				}
				return c.show(r)
			})
		},
	}
	rm := &cobra.Command{
		Use: "rm NAME", Short: "Forget a runtime; nothing changes there", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return server.RemoveRuntime(ctx, given[0])
			})
		},
	}
	cmd.AddCommand(c.addCommand(), list, check, c.installCommand(), rm)
	return cmd
}

func (c commands) addCommand() *cobra.Command {
	var in api.NewRuntime
	cmd := &cobra.Command{
		Use:   "add NAME ssh://[USER@]HOST[:PORT] [--command PROGRAM] | add NAME https://HOST[:PORT] --token-file FILE [--pin SHA256]",
		Short: "Add a runtime, by ssh or by https",
		Long: `Add a runtime, by ssh or by https, and ask it once.

By ssh it runs your own ssh program, with your configuration, keys and known hosts,
and "middleman connect" there. ssh must get in without a question.

By https the server there must listen with TLS. FILE has one of its tokens, with
the scope full ("middleman token create hub --scope full" there); it must be yours,
with mode 0600. --pin is the SHA-256 of the server's certificate, or of the authority
that vouches for it, where this machine knows neither. "middleman serve --tls local"
prints that of its authority.`,
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			in.Name, in.Address = given[0], given[1]
			if in.TokenFile != "" {
				if in.TokenFile, err = filepath.Abs(in.TokenFile); err != nil {
					return err
				}
			}
			in.Pin = plainPin(in.Pin)
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				r, err := server.AddRuntime(ctx, in)
				if err != nil {
					return err
				}
				if err := c.show(r); err != nil {
					return fmt.Errorf("%w (it was added: `middleman runtime check %[2]s` asks it again, `middleman runtime rm %[2]s` forgets it)", err, r.Name)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&in.Command, "command", "", "the `PROGRAM` that is middleman there, if it is not in PATH")
	cmd.Flags().StringVar(&in.TokenFile, "token-file", "", "the `FILE` with the token")
	cmd.Flags().StringVar(&in.Pin, "pin", "", "the `SHA256` of its certificate, or of its authority")
	return cmd
}

// show prints a runtime, and returns an error if it cannot be used.
func (c commands) show(r api.Runtime) error {
	if r.State == string(runtime.Reachable) {
		return c.Print(r, func() error {
			fmt.Fprintf(c.Out, "%s is reachable (middleman %s)\n", r.Name, r.Version)
			return nil
		})
	}
	err := fmt.Errorf("runtime %s is %s: %s", r.Name, r.State, r.Detail)
	if r.State == string(runtime.Unreachable) {
		err = fmt.Errorf("%w; `middleman server logs` has what was tried", err)
	}
	if c.JSON {
		err = errors.Join(err, c.PrintJSON(r))
	}
	return err
}

func (c commands) list(ctx context.Context, server *client.Client) error {
	list, err := server.Runtimes(ctx)
	if err != nil {
		return err
	}
	return c.Print(api.Runtimes{Runtimes: cli.NotNil(list)}, func() error {
		if len(list) == 0 {
			fmt.Fprintln(c.Errs, "There are no runtimes; `middleman runtime add` adds one.")
			return nil
		}
		t := c.Table("NAME", "ADDRESS", "STATE", "SINCE", "CHECKED", "VERSION", "WHY")
		for _, r := range list {
			checked := "-"
			if r.CheckedAt != nil {
				checked = cli.Age(*r.CheckedAt) + " ago"
			}
			t.Row(r.Name, r.Address, r.State, cli.Age(r.Since), checked, cli.Dash(r.Version), cli.Dash(r.Detail))
		}
		return t.Flush()
	})
}

func (c commands) connectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "connect",
		Short: "Join standard input and output to this machine's server, for a hub",
		Long: `Join standard input and output to the server of this machine, which it starts where
none runs. A hub runs this by ssh; see "middleman runtime add".`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := c.Server(cmd.Context())
			if err != nil {
				return err
			}
			server.Close()
			return runtime.Bridge(cmd.Context(), c.In, c.BytesOut, build.Version(), func(ctx context.Context) (net.Conn, error) {
				conn, err := client.DialServer(ctx, c.Dirs)
				if err == nil || ctx.Err() != nil {
					return conn, err
				}
				server, err := c.Server(ctx) // the server has ended since
				if err != nil {
					return nil, err
				}
				server.Close()
				return client.DialServer(ctx, c.Dirs)
			})
		},
	}
}
