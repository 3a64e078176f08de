package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/quit"
)

// attaching are the commands that give the terminal to a session.
var attaching = []string{"new", "run", "resume", "attach", "watch"}

// takeSignals says what SIGQUIT means for the command that args name: to detach from what
// it will attach to, or the end as with an interrupt. The server leaves it to Go, which
// prints the stacks. It returns a context that the signal cancels too, and whether it has.
func (c *CLI) takeSignals(ctx context.Context, root *cobra.Command, args []string) (context.Context, func() bool) {
	var quitted atomic.Bool
	if c.Within {
		return ctx, quitted.Load
	}
	ctx, cancel := context.WithCancel(ctx)
	c.end = func() {
		if quitted.Swap(true) {
			os.Exit(quit.Status)
		}
		cancel()
	}
	quit.Catch()
	cmd, _, err := root.Find(args)
	switch {
	case err == nil && cmd.Name() == "serve":
		quit.Default()
	case err == nil && slices.Contains(attaching, cmd.Name()):
		c.noSession = quit.Detaches()
	}
	quit.Ends(c.end)
	return ctx, quitted.Load
}

// AttachesNot says that the command attaches to nothing, this time or any more.
func (c *CLI) AttachesNot() {
	if c.noSession == nil {
		return
	}
	asked := quit.Asked()
	c.noSession()
	c.noSession = nil
	if asked {
		c.end()
	}
}

// HandOn leaves SIGQUIT to what the command does with signals itself, until undo is called.
func (c *CLI) HandOn() (undo func()) {
	quit.Ends(func() {})
	return func() { quit.Ends(c.end) }
}

// Uncatch makes interrupts end the process again. A command calls it before it
// waits for something that cannot be cancelled.
func (c *CLI) Uncatch() {
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	if c.Within {
		return
	}
	c.end = func() { os.Exit(quit.Status) }
	quit.Ends(c.end)
	c.AttachesNot()
}
