package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/audit"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/terminal/recording"
)

// sendChunk is how much of standard input is typed at a time.
const sendChunk = 64 << 10

func (c commands) sendCommand() *cobra.Command {
	var enter bool
	cmd := &cobra.Command{
		Use:   "send TARGET [--enter] TEXT... | -",
		Short: `Type at a session; "-" types standard input, byte for byte`,
		Args:  cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 1 && !enter {
				return cli.Usagef("send needs something to type: TEXT, - or --enter")
			}
			t, err := catalog.Find(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			if err := c.send(cmd.Context(), t.Session, given[1:], enter); err != nil {
				return fmt.Errorf("type at %s: %w", t.Label(), err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&enter, "enter", false, "press Enter at the end")
	return cmd
}

func (c commands) send(ctx context.Context, s terminal.Session, text []string, enter bool) error {
	if len(text) == 1 && text[0] == "-" {
		if err := c.sendInput(ctx, s); err != nil {
			return err
		}
		text = nil
	}
	p := []byte(strings.Join(text, " "))
	if enter {
		p = append(p, '\r')
	}
	if len(p) == 0 {
		return nil
	}
	return s.Input(ctx, p)
}

// sendInput types standard input as it comes. Reading it cannot be woken, so
// an interrupt ends the process as if it were not caught.
func (c commands) sendInput(ctx context.Context, s terminal.Session) error {
	c.Uncatch()
	buf := make([]byte, sendChunk)
	for {
		n, err := c.In.Read(buf)
		if n > 0 {
			if err := s.Input(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}

func (c commands) captureCommand() *cobra.Command {
	var (
		format, at string
		o          terminal.CaptureOptions
	)
	cmd := &cobra.Command{
		Use:   "capture TARGET [--format text|ansi|json] [--scrollback] [--at OFFSET|TIME]",
		Short: "Print a session's screen, as it is or as it was",
		Long: `Print a session's screen, as it is or with --at as it was.

--at takes ` + recording.MomentForms + `.
An earlier screen is drawn from the output that is kept, with the sizes that it
had then; where something of that is missing, standard error says so.
Its scrollback goes back some thousand lines.`,
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
			find := catalog.Find
			if o.At != nil {
				find = catalog.Recorded
			}
			t, err := find(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			if !moment.Time.IsZero() {
				moment.Offset, err = t.Session.OffsetAt(cmd.Context(), moment.Time)
			}
			var shot terminal.Capture
			if err == nil {
				shot, err = t.Session.Capture(cmd.Context(), o)
			}
			if err != nil {
				return fmt.Errorf("capture %s: %w", t.Label(), err)
			}
			if shot.Note != "" {
				fmt.Fprintf(c.Errs, "middleman: capture of %s at offset %d: %s\n", t.Label(), shot.Offset, shot.Note)
			}
			if moment.Time.Before(t.Shown.CreatedAt) && !moment.Time.IsZero() {
				fmt.Fprintf(c.Errs, "middleman: capture of %s: it began only at %s\n", t.Label(), t.Shown.CreatedAt.Format(time.RFC3339))
			}
			return c.printShot(shot.Data, o.Format)
		},
	}
	cmd.Flags().StringVar(&format, "format", string(terminal.FormatText), "text, ansi or json")
	cmd.Flags().BoolVar(&o.Scrollback, "scrollback", false, "what has scrolled away too")
	cmd.Flags().StringVar(&at, "at", "", "as of an `OFFSET` or a time, such as 5m (ago) or 14:05")
	return cmd
}

// printShot prints p, ended by a newline. The form that draws on a terminal is
// printed as it is.
func (c commands) printShot(p []byte, format terminal.CaptureFormat) error {
	var to io.Writer = c.Out
	switch format {
	case terminal.FormatANSI:
		to = c.BytesOut
	case terminal.FormatJSON:
		to = plaintext.NewJSONWriter(c.BytesOut) // an object ends with a brace: nothing is held back
	}
	w := bufio.NewWriter(to)
	w.Write(p)
	if len(p) > 0 && p[len(p)-1] != '\n' {
		w.WriteByte('\n')
	}
	return w.Flush()
}

func (c commands) stopCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "stop TARGET [--grace DUR]",
		Short: "End a session's program and all that it started",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case grace < 0:
				return cli.Usagef("--grace %s is negative", grace)
			case grace == 0 && cmd.Flags().Changed("grace"):
				grace = -1 // none, where zero means the session's own
			}
			t, err := catalog.Find(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			err = t.Session.Stop(cmd.Context(), grace)
			c.Record(audit.SessionStop, "session "+t.Shown.ID+" name "+t.Label(), err)
			if err != nil {
				return fmt.Errorf("stop %s: %w", t.Label(), err)
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long to wait before killing (default: the session's own)")
	return cmd
}
