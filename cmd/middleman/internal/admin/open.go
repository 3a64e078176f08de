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
	var here bool
	cmd := &cobra.Command{
		Use:   "open [--port N] [--here]",
		Short: "Print a link that logs in one browser, once, and open it",
		Long: "Print a link that logs in one browser, once, and open it.\n\n" +
			"Whoever watches a session sees what is printed in it, and the transcript keeps it. So in a\n" +
			"session it opens the browser and does not print the link, unless --here is given.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") {
				return c.openForwarded(cmd.Context(), port, here)
			}
			return c.open(cmd.Context(), here)
		},
	}
	hereFlag(cmd.Flags(), &here, "the link")
	cmd.Flags().Uint16Var(&port, "port", 0, "only print the link, for a browser on another machine that reaches the server through this forwarded port")
	return cmd
}

// openForwarded prints a login link for a forwarded port. While the forward is
// down, any other program on the browser's machine can listen at that port.
func (c commands) openForwarded(ctx context.Context, port uint16, here bool) error {
	if port == 0 {
		return cli.Usagef("--port is the forwarded port on the browser's machine: it must be 1 to 65535")
	}
	if err := mayShow("the link", here); err != nil {
		return err
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
// the file once the link is used or has expired. In a session the link is not
// printed unless here is set.
func (c commands) open(ctx context.Context, here bool) error {
	opener := ""
	if !c.JSON {
		opener = findOpener()
	}
	hidden := mayShow("the link", here)
	if hidden != nil && opener == "" {
		return hidden
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	link, err := server.LoginLink(ctx, api.NewLoginLink{File: opener != ""})
	if err != nil {
		return err
	}
	if hidden != nil {
		return c.openHidden(ctx, opener, link)
	}
	if err := c.printLink(link); err != nil || opener == "" {
		return err
	}
	if err := exec.CommandContext(ctx, opener, link.File).Run(); err != nil {
		fmt.Fprintf(c.Errs, "middleman: %s: %v; paste the link into a browser\n", opener, err)
	}
	return nil
}

// openHidden opens the browser and prints nothing by which others could log in.
func (c commands) openHidden(ctx context.Context, opener string, link api.LoginLink) error {
	if err := exec.CommandContext(ctx, opener, link.File).Run(); err != nil {
		return fmt.Errorf("%s opens no browser: %w; the link is not printed in a session, whose watchers could use it: "+
			"use a terminal outside of middleman, or give --here", opener, err)
	}
	fmt.Fprintln(c.Errs, "opened a browser; the link is not printed in a session, whose watchers could use it (--here prints it)")
	return nil
}
