package admin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/runtime"
)

func (c commands) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token create|list|revoke|rotate",
		Short: "Manage the tokens with which programs use the API",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("token needs create, list, revoke or rotate")
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List all tokens", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.WithServer(cmd.Context(), c.listTokens) },
	}
	revoke := &cobra.Command{
		Use: "revoke ID|NAME", Short: "Revoke a token, and those that it made, and close their connections", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return server.RevokeToken(ctx, given[0])
			})
		},
	}
	var here bool
	rotate := &cobra.Command{
		Use: "rotate ID|NAME [--here]", Short: "Give a token a new secret, and close the connections opened with the old one", Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := mayShow("the new secret", here); err != nil {
				return err
			}
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				created, err := server.RotateToken(ctx, given[0])
				if err != nil {
					return err
				}
				return c.printSecret(created)
			})
		},
	}
	hereFlag(rotate.Flags(), &here, "the secret")
	cmd.AddCommand(c.tokenCreateCommand(), list, revoke, rotate)
	return cmd
}

func (c commands) tokenCreateCommand() *cobra.Command {
	var in api.NewToken
	var session, expires string
	var here bool
	cmd := &cobra.Command{
		Use:   "create NAME [--scope full|read|session] [--session TARGET] [--expires DUR] [--here]",
		Short: "Make a token and print its secret, once",
		Long: "Make a token and print its secret, once.\n\n" +
			"Scopes: read shows everything and changes nothing; session only watches the session of --session;\n" +
			"full allows everything but making login links. Send the secret as `Authorization: Bearer SECRET`.\n\n" +
			"In a session, whose watchers would see the secret, no token is made unless --here is given.",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			in.Name = given[0]
			if session != "" && !cmd.Flags().Changed("scope") {
				in.Scope = "session"
			}
			if (in.Scope == "session") != (session != "") {
				return cli.Usagef("--scope session and --session TARGET go together")
			}
			if expires != "" {
				life, err := cli.Span("expires", expires)
				if err != nil {
					return err
				}
				in.Life = life.String()
			}
			if err := mayShow("the secret", here); err != nil {
				return err
			}
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return c.createToken(ctx, server, in, session)
			})
		},
	}
	hereFlag(cmd.Flags(), &here, "the secret")
	cmd.Flags().StringVar(&in.Scope, "scope", "read", "what it may do: full, read or session")
	cmd.Flags().StringVar(&session, "session", "", "with --scope session: the session that it may watch")
	cmd.Flags().StringVar(&expires, "expires", "", "how long it is valid, such as 12h or 30d (default: until it is revoked)")
	return cmd
}

func (c commands) createToken(ctx context.Context, server *client.Client, in api.NewToken, session string) error {
	if name, target := runtime.Split(session); name != "" {
		return fmt.Errorf("a token watches a session of its own server: make it on the machine of %s, with `middleman token create %s --session %s`", name, in.Name, target)
	}
	if session != "" {
		t, err := catalog.Find(ctx, c.CLI, session)
		if err != nil {
			return err
		}
		in.Session = t.Shown.ID
	}
	created, err := server.CreateToken(ctx, in)
	if err != nil {
		return err
	}
	return c.printSecret(created)
}

// printSecret prints only the secret to Out, and what it is for to Errs.
func (c commands) printSecret(created api.CreatedToken) error {
	return c.Print(created, func() error {
		t := created.Token
		fmt.Fprintf(c.Errs, "token %s (%s): scope %s, expires %s; the secret is not shown again:\n", t.Name, t.ID, t.Scope, when(t.ExpiresAt))
		_, err := fmt.Fprintln(c.Out, created.Secret)
		return err
	})
}

// madeBy says what made a token: a browser's login, another token, or its user.
func madeBy(t api.Token) string { return cmp.Or(t.MadeBy, t.Login, "you") }

// when formats a time; nil is "never".
func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func (c commands) listTokens(ctx context.Context, server *client.Client) error {
	list, err := server.Tokens(ctx)
	if err != nil {
		return err
	}
	return c.Print(list, func() error {
		if len(list.Tokens) == 0 {
			fmt.Fprintln(c.Errs, "There are no tokens; `middleman token create NAME` makes one.")
			return nil
		}
		table := c.Table("NAME", "ID", "SCOPE", "MADE BY", "EXPIRES", "LAST USED")
		for _, t := range list.Tokens {
			scope := t.Scope
			if t.Session != "" {
				scope += " " + t.Session
			}
			table.Row(t.Name, t.ID, scope, madeBy(t), when(t.ExpiresAt), when(t.LastUsedAt))
		}
		return table.Flush()
	})
}
