package main

import (
	"context"
	"fmt"
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

// open gives the browser a file that leads to the link, never the link: other
// users see the arguments of programs. The server removes the file once the
// link is used or has expired.
func (c *cli) open(ctx context.Context) error {
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	opener := findOpener()
	link, err := server.LoginLink(ctx, opener != "" && !c.json)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(struct {
			schema
			URL string `json:"url"`
		}{thisSchema(), link.URL})
	}
	fmt.Fprintln(c.out, link.URL)
	if opener == "" {
		return nil // the link is printed
	}
	if err := exec.CommandContext(ctx, opener, link.File).Run(); err != nil {
		fmt.Fprintf(c.errs, "middleman: %s: %v; paste the link into a browser\n", opener, err)
	}
	return nil
}
