package workspaces

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/internal/runtime"
)

func (c commands) importCommand() *cobra.Command {
	var (
		dir    string
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "import [PATH...] [-C DIR] [-n]",
		Short: "Make workspaces from existing worktrees; without PATH, from all of this repository",
		RunE: func(cmd *cobra.Command, given []string) error {
			c.Runtime, dir = runtime.Split(dir)
			return c.importWorktrees(cmd.Context(), dir, given, dryRun)
		},
	}
	cmd.Flags().StringVarP(&dir, "directory", "C", ".", "use the repository at `DIR` instead of the one here; with RUNTIME:DIR it and each PATH are on a remote runtime")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "only print what would be imported")
	return cmd
}

func (c commands) importWorktrees(ctx context.Context, dir string, paths []string, dryRun bool) error {
	in := api.Import{}
	var err error
	if in.Directory, err = c.Directory(dir); err != nil {
		return err
	}
	for _, path := range paths {
		absolute, err := c.Directory(path)
		if err != nil {
			return err
		}
		in.Paths = append(in.Paths, absolute)
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	out, err := server.Import(ctx, in, dryRun)
	if err != nil {
		return err
	}
	out.Workspaces = catalog.Labelled(c.CLI, out.Workspaces)
	out.Deleted = catalog.Labelled(c.CLI, out.Deleted)
	for _, p := range out.Passed {
		fmt.Fprintf(c.Errs, "not imported: %s: %s\n", plaintext.Line(p.Path), plaintext.Line(p.Why))
	}
	return c.Print(out, func() error {
		t := c.Table()
		for _, w := range out.Workspaces {
			t.Row(w.Label, string(w.Mode), cli.Dash(w.Branch), w.Path)
		}
		for _, w := range out.Deleted {
			t.Row(w.Label, "deleted", cli.Dash(w.Branch), "`middleman restore "+c.Target(w.ID)+"` brings it back")
		}
		return t.Flush()
	})
}
