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
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/terminal/escape"
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
			if _, err := c.logs(cmd.Context(), t, from, follow, raw); err != nil {
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

// logs prints output from an offset on. With follow it goes on until the
// program exits, and returns the exit.
func (c commands) logs(ctx context.Context, t catalog.Target, from uint64, follow, raw bool) (exit *terminal.Exit, err error) {
	out := bufio.NewWriterSize(c.BytesOut, 64<<10)
	var w io.Writer = out
	flush := out.Flush
	if !raw {
		plain := plaintext.NewWriter(out)
		w = escape.PlainText(plain)
		flush = func() error { return errors.Join(plain.Flush(), out.Flush()) }
	}
	live := false // what is printed now is shown at once
	s := await.Stream{Session: t.Session, Client: "logs", From: from}
	s.Write = func(p []byte) error {
		_, err := w.Write(p)
		if live {
			err = errors.Join(err, out.Flush())
		}
		return err
	}
	s.Missing = func(from, to uint64) {
		fmt.Fprintf(c.Errs, "middleman: logs of %s: output from offset %d to %d is missing\n", t.Label(), from, to)
	}
	if err = s.Copy(ctx); err == nil && follow {
		live = true
		err = out.Flush()
	}
	if err == nil && follow {
		exit, err = s.Follow(ctx)
	}
	return exit, errors.Join(err, flush())
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
		_, err = io.WriteString(escape.PlainText(c.Out), log.Text)
		return err
	})
}
