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
		o     logsOptions
		setup bool
	)
	cmd := &cobra.Command{
		Use:   "logs TARGET [--from OFFSET] [--tail N] [--follow] [--raw]",
		Short: "Print a session's output",
		Long: `Print a session's output as text. Control sequences are left out. Characters
that hide text or control a terminal are shown as escapes (\u202e), also in a
pipe. --raw prints the bytes as the program wrote them, also to a terminal.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if setup {
				if o.follow || o.raw || cmd.Flags().Changed("from") || cmd.Flags().Changed("tail") {
					return cli.Usagef("--setup cannot be combined with --from, --tail, --follow or --raw")
				}
				return c.setupLog(cmd.Context(), given[0])
			}
			t, err := catalog.Recorded(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			o.last = cmd.Flags().Changed("tail")
			if !cmd.Flags().Changed("from") {
				if o.from, err = await.OldestKept(cmd.Context(), t.Session); err != nil {
					return fmt.Errorf("logs of %s: %w", t.Label(), err)
				}
				if o.from > 0 && !o.last {
					fmt.Fprintf(c.Errs, "middleman: logs of %s begin at offset %d: older output is no longer kept\n", t.Label(), o.from)
				}
			}
			if _, err := c.logs(cmd.Context(), t, o); err != nil {
				return fmt.Errorf("logs of %s: %w", t.Label(), err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&o.from, "from", 0, "begin after the first `OFFSET` bytes (default: at the oldest kept)")
	flags.Uint64Var(&o.tail, "tail", 0, "print only the last `N` lines")
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on until the program exits")
	flags.BoolVar(&o.raw, "raw", false, "print the session's bytes unchanged")
	flags.BoolVar(&setup, "setup", false, "print the output of the workspace's setup or teardown instead")
	return cmd
}

// logsOptions say which output logs prints, and how.
type logsOptions struct {
	from        uint64
	last        bool // only the last tail lines
	tail        uint64
	follow, raw bool
}

// logs prints output. With follow it goes on until the program exits, and
// returns the exit.
func (c commands) logs(ctx context.Context, t catalog.Target, o logsOptions) (exit *terminal.Exit, err error) {
	out := bufio.NewWriterSize(c.BytesOut, 64<<10)
	last := &tail{to: out, lines: o.tail, open: !o.last}
	var w io.Writer = last
	flush := out.Flush
	if !o.raw {
		plain := plaintext.NewContentWriter(last)
		w = escape.PlainText(plain)
		flush = func() error { return errors.Join(plain.Flush(), out.Flush()) }
	}
	live := false // what is printed now is shown at once
	ended := true // the last line is whole
	s := await.Stream{Session: t.Session, Client: "logs", From: o.from}
	s.Write = func(p []byte) error {
		_, err := w.Write(p)
		ended = len(p) > 0 && p[len(p)-1] == '\n'
		if live {
			err = errors.Join(err, out.Flush())
		}
		return err
	}
	s.Missing = func(from, to uint64) {
		if !o.raw && !ended { // what follows belongs to another line
			_, _ = io.WriteString(w, "\n") // an error comes again with what follows
		}
		fmt.Fprintf(c.Errs, "middleman: logs of %s: output from offset %d to %d is missing\n", t.Label(), from, to)
	}
	err = s.Copy(ctx)
	if !last.open {
		if !o.follow { // else what is half a character comes with the rest of it
			err = errors.Join(err, flush())
		}
		err = errors.Join(err, last.release())
	}
	if err == nil && o.follow {
		live = true
		err = out.Flush()
	}
	if err == nil && o.follow {
		exit, err = s.Follow(ctx)
	}
	return exit, errors.Join(err, flush())
}

// setupLog prints the output of a workspace's setup or teardown.
func (c commands) setupLog(ctx context.Context, name string) error {
	server, w, err := catalog.OnServer(ctx, c.CLI, name)
	if err != nil {
		return err
	}
	defer server.Close()
	log, err := server.SetupLog(ctx, w.ID)
	if err != nil {
		return err
	}
	return c.Print(log, func() error {
		_, err = io.WriteString(escape.PlainText(c.Out), log.Text)
		return err
	})
}
