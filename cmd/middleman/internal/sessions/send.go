package sessions

import (
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
	"middleman/terminal"
)

// sendChunk is how many bytes of standard input are typed at a time.
const sendChunk = 64 << 10

func (c commands) sendCommand() *cobra.Command {
	var enter bool
	cmd := &cobra.Command{
		Use:   "send TARGET [--enter] TEXT... | -",
		Short: `Type into a session; "-" types standard input, byte for byte`,
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

// sendInput types standard input as it arrives. A blocked read cannot be
// cancelled, so sendInput lets an interrupt end the process.
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

func (c commands) stopCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "stop TARGET [--grace DUR]",
		Short: "End a session's program and everything that it started",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case grace < 0:
				return cli.Usagef("--grace is %s: it must be 0 or more", grace)
			case grace == 0 && cmd.Flags().Changed("grace"):
				grace = -1 // no grace; 0 would mean the session's own
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
