package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/audit"
	"middleman/terminal"
)

func (c *cli) attachCommand() *cobra.Command {
	var (
		o    viewer.Options
		from uint64
	)
	cmd := &cobra.Command{
		Use:   "attach TARGET [--takeover] [--from OFFSET]",
		Short: "Come back to a session; ctrl-\\ leaves it running",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Mode = terminal.ModeAttach
			if err := checkClipboard(o.Clipboard); err != nil {
				return err
			}
			if cmd.Flags().Changed("from") {
				o.From = &from
			}
			return c.attachTo(cmd.Context(), given[0], o)
		},
	}
	clipboardFlag(cmd.Flags(), &o.Clipboard, yourClipboard, "config.toml's attach.clipboard, else allow")
	cmd.Flags().BoolVar(&o.Takeover, "takeover", false, "take the terminal from who is attached")
	cmd.Flags().Uint64Var(&from, "from", 0, "continue after the first `OFFSET` bytes instead of drawing the screen")
	return cmd
}

func (c *cli) watchCommand() *cobra.Command {
	o := viewer.Options{Mode: terminal.ModeWatch}
	cmd := &cobra.Command{
		Use:   "watch TARGET",
		Short: "Look at a session without typing",
		Long: `Look at a session without typing, and without changing its size: in a terminal
of another one you see the part around the cursor. Arrows show the rest, any other
key follows the cursor again; q, ctrl-c and the detach key leave.`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := checkClipboard(o.Clipboard); err != nil {
				return err
			}
			return c.attachTo(cmd.Context(), given[0], o)
		},
	}
	clipboardFlag(cmd.Flags(), &o.Clipboard, yourClipboard, string(terminal.ClipboardDeny))
	return cmd
}

func (c *cli) attachTo(ctx context.Context, arg string, o viewer.Options) error {
	if err := c.checkTerminal(); err != nil {
		return err
	}
	t, err := c.target(ctx, arg)
	if err != nil {
		return &notAttachedError{err}
	}
	return c.attach(ctx, t, o)
}

// checkTerminal refuses what could not be attached.
func (c *cli) checkTerminal() error {
	if err := nested(); err != nil {
		return err
	}
	if !viewer.IsTerminal(c.in) || !viewer.IsTerminal(c.bytesOut) {
		return &notAttachedError{errors.New("standard input and output must be a terminal to attach; use -d, send, capture or logs")}
	}
	return nil
}

// attach joins a session with this terminal and returns as the program ended,
// or nil when the user detached.
func (c *cli) attach(ctx context.Context, t target, o viewer.Options) error {
	detach, err := c.config.Attach.DetachByte()
	if err != nil {
		return err
	}
	o.Detach, o.DetachName = detach, c.config.Attach.Detach
	o.Scrollback = c.config.Attach.Scrollback
	if o.Clipboard == "" && o.Mode == terminal.ModeAttach {
		o.Clipboard = terminal.Clipboard(c.config.Attach.Clipboard)
	}
	o.Label = t.label()
	if o.Takeover {
		c.record(audit.Takeover, "session "+t.shown.ID+" name "+t.label(), nil)
	}
	end, err := viewer.Run(ctx, c.in, c.bytesOut, c.bytesErrs, t.session, o)
	if end.Wanted != nil {
		c.offer(o.Label, *end.Wanted, err == nil)
	}
	switch {
	case errors.Is(err, viewer.ErrNotAttached):
		return &notAttachedError{err}
	case ctx.Err() != nil && end.Exit == nil: // a signal: 130 would be what the program ended with
		return fmt.Errorf("%w: ended by a signal; the session goes on", viewer.ErrDisconnected)
	case err != nil:
		return err
	case end.Exit != nil:
		return &programExit{*end.Exit}
	}
	return nil
}
