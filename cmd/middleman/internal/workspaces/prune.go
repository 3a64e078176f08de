package workspaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

func (c commands) pruneCommand() *cobra.Command {
	var (
		q           api.PruneQuery
		snapshots   string
		transcripts bool
	)
	cmd := &cobra.Command{
		Use:   "prune [RUNTIME:] [-n] [--snapshots AGE] [--workers] | prune --transcripts [WORKSPACE...] [-n]",
		Short: "Remove leftovers that hold no work; list what stays, and why",
		Long: `Remove leftovers that hold no work; list what stays, and why.

An ended worker leaves its directory, its branch and a record of how it ended. The
directory is removed if all of its work is on the branch, and the branch if all of
its commits are also on another branch. The record is removed 30 days after the
worker's end if its parent is gone, or earlier with --workers.

With --transcripts it removes only transcripts, for good: the output, last screens
and exits of sessions of deleted workspaces. Without a WORKSPACE it removes those
of all deleted workspaces.`,
		Args:              cli.Args(cobra.ArbitraryArgs),
		ValidArgsFunction: catalog.CompleteDeleted(c.CLI),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if c.Runtime != "" && len(given) == 1 && given[0] == "" {
				given = nil // RUNTIME: alone
			}
			switch {
			case transcripts && (cmd.Flags().Changed("snapshots") || q.Workers):
				return cli.Usagef("--transcripts goes alone: run prune twice")
			case transcripts:
				return c.forgetTranscripts(cmd.Context(), given, q.DryRun)
			case len(given) > 0:
				return cli.Usagef("prune takes a WORKSPACE with --transcripts only; `middleman rm %s` deletes a workspace", given[0])
			}
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
	cmd.Flags().BoolVar(&transcripts, "transcripts", false, "remove, for good, the transcripts of sessions of deleted workspaces, and nothing else")
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
		return errors.New("could not remove " + plaintext.Count(failed, "leftover"))
	}
	return nil
}

// forgetTranscripts removes the transcripts of the deleted workspaces with these
// names or ids, or of all deleted workspaces.
func (c commands) forgetTranscripts(ctx context.Context, names []string, dryRun bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	var ids []string
	if len(names) > 0 {
		if ids, err = c.deletedIDs(ctx, server, names); err != nil {
			return err
		}
	}
	out, err := server.ForgetTranscripts(ctx, ids, dryRun)
	if err != nil {
		return err
	}
	if err := c.printForgotten(out); err != nil {
		return err
	}
	for _, t := range out.Transcripts {
		if t.Error != "" {
			return errors.New("some transcripts could not be removed")
		}
	}
	return nil
}

// deletedIDs returns the ids of the deleted workspaces with these names or ids.
func (c commands) deletedIDs(ctx context.Context, server *client.Client, names []string) ([]string, error) {
	deleted, err := server.DeletedWorkspaces(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		w, err := oneDeleted(deleted, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, w.ID)
	}
	return ids, nil
}

func (c commands) printForgotten(out api.ForgottenTranscripts) error {
	return c.Print(out, func() error {
		state := "gone"
		if out.DryRun {
			state = "would go"
		}
		t := c.Table()
		for _, of := range out.Transcripts {
			why := fmt.Sprintf("deleted %s; for good: %s", of.DeletedAt.Local().Format(time.DateTime), transcriptsText(of.Sessions, of.Bytes))
			if of.Sessions > 0 {
				t.Row(state, "transcripts", plaintext.Line(of.WorkspaceName), why)
			}
			if of.Error != "" {
				t.Row("failed", "transcripts", plaintext.Line(of.WorkspaceName), plaintext.Line(of.Error))
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(c.Errs, "%s: %s in all\n", state, plaintext.Bytes(out.Bytes))
		return nil
	})
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
		if len(out.Leftovers) == 0 {
			fmt.Fprintln(c.Errs, "nothing is left over")
		}
		return t.Flush()
	})
}
