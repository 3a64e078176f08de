package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"middleman/internal/api"
)

func (c *cli) openCommand() *cobra.Command {
	var port uint16
	cmd := &cobra.Command{
		Use:   "open [--port N]",
		Short: "Print a link that logs a browser in, once, and open it",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") {
				return c.openForwarded(cmd.Context(), port)
			}
			return c.open(cmd.Context())
		},
	}
	cmd.Flags().Uint16Var(&port, "port", 0, "for a browser elsewhere, which reaches the server by this forwarded port; print the link alone")
	return cmd
}

// openForwarded prints a link for a forwarded port, which nobody holds for us
// while the forward is down.
func (c *cli) openForwarded(ctx context.Context, port uint16) error {
	if port == 0 {
		return usagef("--port is that of the forward, where the browser runs: 1 to 65535")
	}
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	link, err := server.LoginLink(ctx, api.NewLoginLink{Port: int(port)})
	if err != nil {
		return err
	}
	if strings.HasPrefix(link.URL, "https://") {
		return c.printLink(link) // another program cannot show our certificate
	}
	fmt.Fprintf(c.errs, "middleman: whoever else can listen at port %d of the machine with the browser, while the forward is down, "+
		"can take this login over: where others use that machine, use `serve --tls local`\n", port)
	return c.printLink(link)
}

func (c *cli) printLink(link api.LoginLink) error {
	return c.print(map[string]any{"url": link.URL}, func() error {
		_, err := fmt.Fprintln(c.out, link.URL)
		return err
	})
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
	link, err := server.LoginLink(ctx, api.NewLoginLink{File: opener != "" && !c.json})
	if err != nil {
		return err
	}
	if err := c.printLink(link); err != nil || opener == "" || c.json {
		return err
	}
	if err := exec.CommandContext(ctx, opener, link.File).Run(); err != nil {
		fmt.Fprintf(c.errs, "middleman: %s: %v; paste the link into a browser\n", opener, err)
	}
	return nil
}
