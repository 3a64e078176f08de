package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
)

func (c commands) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login list | revoke ID | revoke --all",
		Short: "List the browsers that are logged in, or log them out",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("login needs list or revoke: %s (`middleman open` logs a browser in)", cmd.Use)
		},
	}
	all, keep := false, false
	revoke := &cobra.Command{
		Use:   "revoke ID... | --all [--keep-tokens]",
		Short: "Log out browsers, close their connections, and end the tokens that they made",
		Long: "Log out browsers, close their connections, and end the tokens that they made.\n\n" +
			"A login that you revoke may be somebody else's, and so may be the tokens that it made, with\n" +
			"those that these made in turn, or whose secret it has rotated. They end with it and are named;\n" +
			"--keep-tokens keeps them. --all also ends the tokens of logins that have ended before.\n" +
			"A browser that logs itself out, or whose login expires, keeps its tokens. Tokens made by\n" +
			"`middleman token create` stay, and those from before middleman kept who made them:\n" +
			"`middleman token list` shows them all.",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return cli.Usagef("name the logins to revoke, by the IDs that `middleman login list` shows, or give --all")
			}
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return c.revokeLogins(ctx, server, ids, keep)
			})
		},
	}
	revoke.Flags().BoolVar(&all, "all", false, "log out every browser, and cancel unused login links")
	revoke.Flags().BoolVar(&keep, "keep-tokens", false, "the tokens that the browsers made stay valid")
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the browsers that are logged in",
		Args:  cli.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.WithServer(cmd.Context(), c.listLogins) },
	}, revoke)
	return cmd
}

func (c commands) listLogins(ctx context.Context, server *client.Client) error {
	list, err := server.Logins(ctx)
	if err != nil {
		return err
	}
	return c.Print(map[string]any{"logins": cli.NotNil(list)}, func() error {
		t := c.Table("ID", "BROWSER", "FROM", "AT", "AGE", "USED", "EXPIRES")
		for _, l := range list {
			t.Row(l.ID, cli.Dash(l.Name), l.Address, l.Origin, cli.Age(l.CreatedAt), cli.Age(l.LastUsedAt), l.ExpiresAt.Local().Format(time.DateTime))
		}
		return t.Flush()
	})
}

// revokeLogins logs out the browsers with these ids, or all if there are none. It
// names the tokens that end with them.
func (c commands) revokeLogins(ctx context.Context, server *client.Client, ids []string, keep bool) error {
	before, err := server.Tokens(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		err = server.RevokeLogins(ctx, keep)
	}
	for _, id := range ids {
		if failed := server.RevokeLogin(ctx, id, keep); failed != nil {
			err = fmt.Errorf("log out %s: %w", id, failed)
			break
		}
	}
	after, listErr := server.Tokens(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, t := range before.Tokens {
		if !slices.ContainsFunc(after.Tokens, func(left api.Token) bool { return left.ID == t.ID }) {
			fmt.Fprintf(c.Errs, "token %s (%s), scope %s, ended with login %s\n", t.Name, t.ID, t.Scope, t.Login)
		}
	}
	if len(ids) == 0 && len(after.Tokens) > 0 {
		fmt.Fprintf(c.Errs, "still valid: %d of your tokens; `middleman token list` shows them\n", len(after.Tokens))
	}
	return err
}
