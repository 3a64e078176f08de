package workspaces

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
)

func (c commands) pruneCommand() *cobra.Command {
	var (
		q         api.PruneQuery
		snapshots string
	)
	cmd := &cobra.Command{
		Use:   "prune [-n] [--snapshots AGE] [--workers]",
		Short: "Remove leftovers that hold no work; list what stays, and why",
		Long: `Remove leftovers that hold no work; list what stays, and why.

An ended worker leaves its directory, its branch and a record of how it ended. The
directory is removed if all of its work is on the branch, and the branch if all of
its commits are also on another branch. The record is removed 30 days after the
worker's end if its parent is gone, or earlier with --workers.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if snapshots != "" {
				if q.Snapshots, err = cli.Span("snapshots", snapshots); err != nil {
					return err
				}
			}
			return c.prune(cmd.Context(), q)
		},
	}
	cmd.Flags().BoolVarP(&q.DryRun, "dry-run", "n", false, "only print what would be removed")
	cmd.Flags().BoolVar(&q.Workers, "workers", false, "also remove the records of ended workers whose parent is gone, whatever their age")
	cmd.Flags().StringVar(&snapshots, "snapshots", "", "also remove, for good, the snapshots of workspaces that were deleted longer ago than AGE, such as 30d")
	return cmd
}

func (c commands) prune(ctx context.Context, q api.PruneQuery) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	out, err := server.Prune(ctx, q)
	if err != nil {
		return err
	}
	failed := 0
	for _, l := range out.Leftovers {
		if l.Error != "" {
			failed++
		}
	}
	if err := c.printLeftovers(out); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d leftover(s) could not be removed", failed)
	}
	return nil
}

func (c commands) printLeftovers(out api.Leftovers) error {
	return c.Print(out, func() error {
		t := c.Table()
		for _, l := range out.Leftovers {
			state, why := "stays", ExplainLeftover(l)
			switch {
			case l.Pruned:
				state = "gone"
			case l.Error != "":
				state, why = "failed", l.Error
			case l.Prunable:
				state = "would go"
			}
			t.Row(state, string(l.Kind), plaintext.Line(l.What), why)
		}
		return t.Flush()
	})
}
