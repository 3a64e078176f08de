package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

func (c *cli) openCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "open",
		Short: "Print a link that logs a browser in, once, and open it",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.open(cmd.Context()) },
	}
}

func (c *cli) open(ctx context.Context) error {
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	link, err := server.LoginLink(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(struct {
			schema
			URL string `json:"url"`
		}{thisSchema(), link})
	}
	fmt.Fprintln(c.out, link)
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	opener, err := exec.LookPath("xdg-open")
	if err != nil {
		return nil // the link is printed
	}
	if err := exec.CommandContext(ctx, opener, link).Run(); err != nil {
		fmt.Fprintf(c.errs, "middleman: %s: %v; paste the link into a browser\n", opener, err)
	}
	return nil
}
