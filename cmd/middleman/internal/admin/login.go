package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
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
	all := false
	revoke := &cobra.Command{
		Use:   "revoke ID... | --all",
		Short: "Log out browsers, and close their connections",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return cli.Usagef("name the logins to revoke, by the IDs that `middleman login list` shows, or give --all")
			}
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return revokeLogins(ctx, server, ids)
			})
		},
	}
	revoke.Flags().BoolVar(&all, "all", false, "log out every browser, and cancel unused login links")
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

// revokeLogins logs out the browsers with these ids, or all if there are none.
func revokeLogins(ctx context.Context, server *client.Client, ids []string) error {
	if len(ids) == 0 {
		return server.RevokeLogins(ctx)
	}
	for _, id := range ids {
		if err := server.RevokeLogin(ctx, id); err != nil {
			return fmt.Errorf("log out %s: %w", id, err)
		}
	}
	return nil
}
