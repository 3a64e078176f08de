package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"middleman/internal/client"
)

func (c *cli) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login list | revoke ID | revoke --all",
		Short: "List the browsers that are logged in, and log them out",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("say which: %s (a browser logs in by `middleman open`)", cmd.Use)
		},
	}
	all := false
	revoke := &cobra.Command{
		Use:   "revoke ID... | --all",
		Short: "Log browsers out, and end what they have open",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return usagef("say which: revoke ID, as `middleman login list` shows them, or revoke --all")
			}
			return c.withServer(cmd, func(ctx context.Context, server *client.Client) error {
				return revokeLogins(ctx, server, ids)
			})
		},
	}
	revoke.Flags().BoolVar(&all, "all", false, "log every browser out, and forget login links that nobody has used")
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the browsers that are logged in",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.withServer(cmd, c.listLogins) },
	}, revoke)
	return cmd
}

func (c *cli) listLogins(ctx context.Context, server *client.Client) error {
	list, err := server.Logins(ctx)
	if err != nil {
		return err
	}
	return c.print(map[string]any{"logins": notNil(list)}, func() error {
		t := c.table("ID", "BROWSER", "FROM", "AT", "AGE", "USED", "EXPIRES")
		for _, l := range list {
			t.row(l.ID, dash(l.Name), l.Address, l.Origin, age(l.CreatedAt), age(l.LastUsedAt), l.ExpiresAt.Local().Format(time.DateTime))
		}
		return t.flush()
	})
}

// revokeLogins logs these browsers out, or all where there are none.
func revokeLogins(ctx context.Context, server *client.Client, ids []string) error {
	if len(ids) == 0 {
		return server.RevokeLogin(ctx, "")
	}
	for _, id := range ids {
		if err := server.RevokeLogin(ctx, id); err != nil {
			return fmt.Errorf("log out %s: %w", id, err)
		}
	}
	return nil
}
