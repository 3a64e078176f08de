package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

func (c commands) logsCommand() *cobra.Command {
	var (
		from        uint64
		follow, raw bool
		setup       bool
	)
	cmd := &cobra.Command{
		Use:   "logs TARGET [--from OFFSET] [--follow] [--raw]",
		Short: "Print a session's output",
		Long: `Print a session's output as text. Control sequences are left out. Characters
that hide text or control a terminal are shown as escapes (\u202e), also in a
pipe. --raw prints the bytes as the program wrote them, also to a terminal.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if setup {
				if follow || raw || cmd.Flags().Changed("from") {
					return cli.Usagef("--setup cannot be combined with --from, --follow or --raw")
				}
				return c.setupLog(cmd.Context(), given[0])
			}
			t, err := catalog.Recorded(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("from") {
				if from, err = oldestKept(cmd.Context(), t.Session); err != nil {
					return fmt.Errorf("logs of %s: %w", t.Label(), err)
				}
				if from > 0 {
					fmt.Fprintf(c.Errs, "middleman: logs of %s begin at offset %d: older output is no longer kept\n", t.Label(), from)
				}
			}
			if err := c.logs(cmd.Context(), t, from, follow, raw); err != nil {
				return fmt.Errorf("logs of %s: %w", t.Label(), err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&from, "from", 0, "begin after the first `OFFSET` bytes (default: at the oldest kept)")
	flags.BoolVar(&follow, "follow", false, "go on until the program exits")
	flags.BoolVar(&raw, "raw", false, "print the session's bytes unchanged")
	flags.BoolVar(&setup, "setup", false, "print the output of the workspace's setup or teardown instead")
	return cmd
}

func (c commands) logs(ctx context.Context, t catalog.Target, from uint64, follow, raw bool) error {
	out := bufio.NewWriterSize(c.BytesOut, 64<<10)
	var w io.Writer = out
	flush := out.Flush
	if !raw {
		plain := plaintext.NewWriter(out)
		w = viewer.PlainText(plain)
		flush = func() error { return errors.Join(plain.Flush(), out.Flush()) }
	}
	say := func(from, to uint64) {
		fmt.Fprintf(c.Errs, "middleman: logs of %s: output from offset %d to %d is missing\n", t.Label(), from, to)
	}
	from, err := copyOutput(ctx, w, t.Session, from, say)
	if err == nil && follow {
		f := follower{w: w, flush: out.Flush, session: t.Session, from: from, say: say}
		err = f.run(ctx)
	}
	return errors.Join(err, flush())
}

// oldestKept returns the offset where the kept output begins. It reads the
// journal and does not ask the session, which may not answer.
func oldestKept(ctx context.Context, s terminal.Session) (uint64, error) {
	r, err := s.Output(ctx, 0)
	if trimmed, ok := errors.AsType[*terminal.TrimmedError](err); ok {
		return trimmed.Oldest, nil
	}
	if err != nil {
		return 0, err
	}
	return 0, r.Close()
}

// copyOutput copies the kept output from an offset on, and returns the offset
// after it. Output that was never kept, because a disk was full, is reported to
// say and left out.
func copyOutput(ctx context.Context, w io.Writer, s terminal.Session, from uint64, say func(from, to uint64)) (uint64, error) {
	for {
		next, err := copyWhole(ctx, w, s, from)
		missing, to, gap := terminal.Gap(err)
		if !gap || ctx.Err() != nil || to <= next {
			return next, err
		}
		say(missing, to)
		from = to
	}
}

// copyWhole copies up to the head, or to where output is missing.
func copyWhole(ctx context.Context, w io.Writer, s terminal.Session, from uint64) (uint64, error) {
	r, err := s.Output(ctx, from)
	if err != nil {
		return from, err
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	defer stop()
	// Hide w's ReadFrom: a bufio.Writer would keep the reader's error as its
	// own.
	n, err := io.Copy(struct{ io.Writer }{w}, r)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return from + uint64(n), errors.Join(err, r.Close())
}

// setupLog prints the output of a workspace's setup or teardown.
func (c commands) setupLog(ctx context.Context, name string) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	list, err := catalog.OfServer(ctx, server)
	if err != nil {
		return err
	}
	w, err := list.Workspace(name)
	if err != nil {
		return err
	}
	log, err := server.SetupLog(ctx, w.ID)
	if err != nil {
		return err
	}
	return c.Print(log, func() error {
		_, err = io.WriteString(viewer.PlainText(c.Out), log.Text)
		return err
	})
}
