package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/cli"
)

// Command runs a command line of middleman with these files, and returns its exit
// code. args are without the program's name. ahead is what was typed for the session
// that the command attaches to, and is read already.
type Command func(in, out *os.File, errs io.Writer, ahead []byte, args ...string) int

// Run shows the dashboard on the terminal of c until the user quits or ctx ends.
// command runs what the user asks for.
func Run(ctx context.Context, c *cli.CLI, command Command) error {
	here, err := os.Getwd()
	if err == nil {
		err = os.Chdir("/") // else our own directory would keep a workspace in use
	}
	if err != nil {
		return fmt.Errorf("start the dashboard: %w", err)
	}
	d := newDashboard(ctx, c, command, here)
	p := tea.NewProgram(d, tea.WithContext(ctx), tea.WithInput(d.input), tea.WithOutput(c.BytesOut),
		tea.WithoutSignalHandler())
	d.send, d.plain = p.Send, os.Getenv("NO_COLOR") != ""
	_, err = p.Run()
	d.hide()
	d.background.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	case err != nil:
		return fmt.Errorf("show the dashboard: %w", err)
	}
	return nil
}
