package workspaces

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
)

func (c commands) repairCommand() *cobra.Command {
	var (
		repository string
		dryRun     bool
	)
	cmd := &cobra.Command{
		Use:   "repair [WORKSPACE] [--repository DIR] [-n]",
		Short: "Find a moved repository, worktree or data directory, and update the records",
		Long: `Find a moved repository, worktree or data directory, and update the records.

repair searches the current directory, or DIR, for a moved repository. It accepts one
only if that has the worktree of the workspace. It also accepts a directory in the
worktree itself, if you have moved that: the workspace is an in-place one there, and its
directory yours. Then git's links and our records are changed.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			name := ""
			if len(given) > 0 {
				name = given[0]
			}
			return c.repair(cmd.Context(), name, repository, dryRun)
		},
	}
	cmd.Flags().StringVar(&repository, "repository", "", "the repository is now at `DIR`")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "only print what would be done")
	return cmd
}

func (c commands) repair(ctx context.Context, name, repository string, dryRun bool) (err error) {
	in := api.Repair{}
	if repository != "" {
		if in.Repository, err = c.Directory(repository); err != nil {
			return err
		}
	} else if here, err := cli.Absolute("."); err == nil && c.Runtime == "" {
		in.Directory = here
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if name != "" {
		list, err := catalog.OfServer(ctx, server)
		if err != nil {
			return err
		}
		w, err := list.Workspace(name)
		if err != nil {
			return err
		}
		in.Workspace = w.ID
	}
	out, err := server.Repair(ctx, in, dryRun)
	if err != nil {
		return err
	}
	for _, f := range out.Failed {
		fmt.Fprintf(c.Errs, "not repaired: %s: %s\n", plaintext.Line(f.Path), plaintext.Line(f.Why))
	}
	if err := c.printRepaired(out); err != nil {
		return err
	}
	if n := len(out.Failed); n > 0 {
		return errors.New("not repaired: " + plaintext.Count(n, "workspace"))
	}
	return nil
}

func (c commands) printRepaired(out api.Repaired) error {
	return c.Print(out, func() error {
		for _, line := range out.Found {
			fmt.Fprintln(c.Out, plaintext.Line(line))
		}
		return nil
	})
}
