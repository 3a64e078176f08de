package admin

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

func (c commands) openCommand() *cobra.Command {
	var port uint16
	cmd := &cobra.Command{
		Use:   "open [--port N]",
		Short: "Print a link that logs in one browser, once, and open it",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") {
				return c.openForwarded(cmd.Context(), port)
			}
			return c.open(cmd.Context())
		},
	}
	cmd.Flags().Uint16Var(&port, "port", 0, "only print the link, for a browser on another machine that reaches the server through this forwarded port")
	return cmd
}

// openForwarded prints a login link for a forwarded port. While the forward is
// down, any other program on the browser's machine can listen at that port.
func (c commands) openForwarded(ctx context.Context, port uint16) error {
	if port == 0 {
		return cli.Usagef("--port is the forwarded port on the browser's machine: it must be 1 to 65535")
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	link, err := server.LoginLink(ctx, api.NewLoginLink{Port: int(port)})
	if err != nil {
		return err
	}
	if strings.HasPrefix(link.URL, "https://") {
		return c.printLink(link) // TLS: another program cannot show our certificate
	}
	fmt.Fprintf(c.Errs, "middleman: while the forward is down, other users of the browser's machine can listen on port %d there "+
		"and take over this login; if others use that machine, use `serve --tls local`\n", port)
	return c.printLink(link)
}

func (c commands) printLink(link api.LoginLink) error {
	return c.Print(map[string]any{"url": link.URL}, func() error {
		_, err := fmt.Fprintln(c.Out, link.URL)
		return err
	})
}

// open passes the browser a file that redirects to the link, and not the link
// itself, because other users can see a program's arguments. The server removes
// the file once the link is used or has expired.
func (c commands) open(ctx context.Context) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	opener := findOpener()
	link, err := server.LoginLink(ctx, api.NewLoginLink{File: opener != "" && !c.JSON})
	if err != nil {
		return err
	}
	if err := c.printLink(link); err != nil || opener == "" || c.JSON {
		return err
	}
	if err := exec.CommandContext(ctx, opener, link.File).Run(); err != nil {
		fmt.Fprintf(c.Errs, "middleman: %s: %v; paste the link into a browser\n", opener, err)
	}
	return nil
}
