package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/terminal/recording"
)

func (c commands) captureCommand() *cobra.Command {
	var (
		format, at, rows string
		o                terminal.CaptureOptions
	)
	cmd := &cobra.Command{
		Use:   "capture TARGET [--format text|ansi|json] [--scrollback | --rows A-B] [--at OFFSET|TIME]",
		Short: "Print a session's screen, as it is or as it was",
		Long: `Print a session's screen, as it is or with --at as it was.

--at takes ` + recording.MomentForms + `.
An earlier screen is drawn from the kept output, with the sizes that the terminal
had then. If some of that output is missing, standard error says so.
Its scrollback goes back some thousand lines.

--json also prints the offset of the screen and the hash of its text, for send
--expect. With --rows the hash is that of these rows.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if c.JSON && !cmd.Flags().Changed("format") {
				format = string(terminal.FormatJSON)
			}
			o.Format = terminal.CaptureFormat(format)
			switch o.Format {
			case terminal.FormatText, terminal.FormatANSI, terminal.FormatJSON:
			default:
				return cli.Usagef("format %q is not text, ansi or json", format)
			}
			var moment recording.Moment
			if cmd.Flags().Changed("at") {
				var err error
				if moment, err = recording.ParseMoment(at, time.Now()); err != nil {
					return cli.Usagef("--at: %w", err)
				}
				o.At = &moment.Offset
			}
			if cmd.Flags().Changed("rows") {
				var err error
				if o.Rows, err = terminal.ParseRows(rows); err != nil {
					return cli.Usagef("--rows: %w", err)
				}
				if o.Scrollback {
					return cli.Usagef("give --rows or --scrollback")
				}
			}
			return c.capture(cmd.Context(), given[0], o, moment.Time)
		},
	}
	cmd.Flags().StringVar(&format, "format", string(terminal.FormatText), "text, ansi or json")
	cmd.Flags().BoolVar(&o.Scrollback, "scrollback", false, "print the lines that have scrolled away too")
	cmd.Flags().StringVar(&rows, "rows", "", "print only rows `A-B` of the screen, counted from 1")
	cmd.Flags().StringVar(&at, "at", "", "the screen as of an `OFFSET` or a time, such as 5m (ago) or 14:05")
	return cmd
}

// capture prints the screen of the session that arg means. If at is not zero,
// capture asks the session for the offset of that time, and sets *o.At.
func (c commands) capture(ctx context.Context, arg string, o terminal.CaptureOptions, at time.Time) error {
	find := catalog.Readable
	if o.At != nil {
		find = catalog.Recorded
	}
	t, err := find(ctx, c.CLI, arg)
	if err != nil {
		return err
	}
	if !at.IsZero() {
		*o.At, err = t.Session.OffsetAt(ctx, at)
	}
	var shot terminal.Capture
	if err == nil {
		shot, err = t.Session.Capture(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("capture %s: %w", t.Label(), err)
	}
	if shot.Note != "" {
		fmt.Fprintf(c.Errs, "middleman: capture of %s at offset %d: %s\n", t.Label(), shot.Offset, shot.Note)
	}
	if at.Before(t.Shown.CreatedAt) && !at.IsZero() {
		fmt.Fprintf(c.Errs, "middleman: capture of %s: the session began only at %s\n", t.Label(), t.Shown.CreatedAt.Local().Format(time.DateTime))
	}
	return c.printShot(shot.Data, o.Format)
}

// printShot prints p and a final newline. It does not change the ANSI format,
// which draws on a terminal.
func (c commands) printShot(p []byte, format terminal.CaptureFormat) error {
	content := plaintext.NewContentWriter(c.BytesOut)
	var to io.Writer = content
	switch format {
	case terminal.FormatANSI:
		to = c.BytesOut
	case terminal.FormatJSON:
		to = plaintext.NewJSONWriter(c.BytesOut) // a JSON object ends with a brace, so nothing is held back
	}
	w := bufio.NewWriter(to)
	w.Write(p)
	if len(p) > 0 && p[len(p)-1] != '\n' {
		w.WriteByte('\n')
	}
	return errors.Join(w.Flush(), content.Flush())
}
