package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/internal/api"
	"middleman/internal/plaintext"
)

func (c *cli) importCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "import [PATH...] [-n]",
		Short: "Make workspaces of worktrees that exist already; without PATH, of all of this repository",
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.importWorktrees(cmd.Context(), given, dryRun)
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "only say what would be imported")
	return cmd
}

func (c *cli) importWorktrees(ctx context.Context, paths []string, dryRun bool) error {
	in := api.Import{}
	var err error
	if in.Directory, err = absolute("."); err != nil {
		return err
	}
	for _, path := range paths {
		absolute, err := absolute(path)
		if err != nil {
			return err
		}
		in.Paths = append(in.Paths, absolute)
	}
	server, err := c.server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	out, err := server.Import(ctx, in, dryRun)
	if err != nil {
		return err
	}
	for _, p := range out.Passed {
		fmt.Fprintf(c.errs, "not imported: %s: %s\n", plaintext.Line(p.Path), plaintext.Line(p.Why))
	}
	return c.print(out, func() error {
		t := c.table()
		for _, w := range out.Workspaces {
			t.row(w.Name, string(w.Mode), dash(w.Branch), w.Path)
		}
		for _, w := range out.Deleted {
			t.row(w.Name, "deleted", dash(w.Branch), "`middleman restore "+w.ID+"` brings it back")
		}
		return t.flush()
	})
}
