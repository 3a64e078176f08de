package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/quit"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

func (c commands) attachCommand() *cobra.Command {
	var (
		o    viewer.Options
		from uint64
	)
	cmd := &cobra.Command{
		Use:   "attach [TARGET | -] [--takeover] [--from OFFSET]",
		Short: "Attach to a session; ctrl-\\ detaches and leaves it running",
		Long: `Attach to a session. The detach key leaves it running.

Without TARGET it is the session that you attached to last, with - the one before
that. If a workspace has several sessions it is the one used last, and standard
error names the others.

The switch key lists the other sessions, to go to one of them. Inside a session
attach asks the terminal that shows it to go to TARGET instead.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Mode = terminal.ModeAttach
			if err := CheckClipboard(o.Clipboard); err != nil {
				return err
			}
			if cmd.Flags().Changed("from") {
				o.From = &from
			}
			return c.attachTo(cmd.Context(), strings.Join(given, ""), o)
		},
	}
	ClipboardFlag(cmd.Flags(), &o.Clipboard, yourClipboard, "config.toml's attach.clipboard, else allow")
	cmd.Flags().BoolVar(&o.Takeover, "takeover", false, "take over from the attached viewer")
	cmd.Flags().Uint64Var(&from, "from", 0, "continue after the first `OFFSET` bytes instead of drawing the screen")
	return cmd
}

func (c commands) watchCommand() *cobra.Command {
	o := viewer.Options{Mode: terminal.ModeWatch}
	cmd := &cobra.Command{
		Use:   "watch TARGET",
		Short: "Watch a session without typing",
		Long: `Watch a session without typing, and without changing its size. If your terminal
has another size you see the part around the cursor. The arrow keys show the rest;
any other key follows the cursor again. q, ctrl-c and the detach key leave.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := CheckClipboard(o.Clipboard); err != nil {
				return err
			}
			return c.attachTo(cmd.Context(), given[0], o)
		},
	}
	ClipboardFlag(cmd.Flags(), &o.Clipboard, yourClipboard, string(terminal.ClipboardDeny))
	return cmd
}

func (c commands) attachTo(ctx context.Context, arg string, o viewer.Options) error {
	var (
		t      catalog.Target
		others []api.Session
		err    error
	)
	if o.Mode == terminal.ModeAttach {
		t, others, err = catalog.FindToAttach(ctx, c.CLI, arg)
	} else {
		t, err = catalog.Find(ctx, c.CLI, arg)
	}
	if err != nil {
		return &cli.NotAttachedError{Err: err}
	}
	if err := CheckTerminal(c.CLI); err != nil {
		return err
	}
	TellOthers(c.CLI, t.Shown, others)
	if outer := outerSession(); outer != "" {
		return c.goInstead(ctx, outer, t, o)
	}
	return c.attach(ctx, t, o)
}

// TellOthers names the other sessions of a workspace that could have been meant.
func TellOthers(c *cli.CLI, chosen api.Session, others []api.Session) {
	if len(others) == 0 {
		return
	}
	names := make([]string, len(others))
	for i, s := range others {
		names[i] = plaintext.Line(catalog.Label(s))
	}
	fmt.Fprintf(c.Errs, "middleman: this is %s; there are also %s\n", plaintext.Line(catalog.Label(chosen)), strings.Join(names, ", "))
}

// CheckTerminal returns a NotAttachedError if this command could not attach to
// a session: its input or output is no terminal, or it runs inside a session that
// no attach shows.
func CheckTerminal(c *cli.CLI) error {
	if err := checkOuter(c); err != nil {
		return err
	}
	if !viewer.IsTerminal(c.In) || !viewer.IsTerminal(c.BytesOut) {
		return &cli.NotAttachedError{Err: errors.New("standard input and output must be a terminal to attach; use -d, send, capture or logs")}
	}
	return nil
}

// attach joins a session with this terminal. It returns the program's exit as
// an error, or nil when the user detached.
func (c commands) attach(ctx context.Context, t catalog.Target, o viewer.Options) error {
	a := &attaching{commands: c, base: o, notices: notices{way: c.Config.Notify.Terminal, aside: make(chan string, 16)}}
	o, err := a.options(ctx, t, o.Takeover)
	if err != nil {
		return err
	}
	defer a.follow(ctx)()
	o.Ahead, o.Leave = c.Ahead, quit.Leave()
	end, err := viewer.Run(ctx, c.In, c.BytesOut, c.BytesErrs, t.Session, o)
	if a.problem != nil {
		fmt.Fprintf(c.Errs, "middleman: %v\n", a.problem)
	}
	if end.Wanted != nil {
		c.offer(*end.Wanted, err == nil)
	}
	switch {
	case errors.Is(err, viewer.ErrNotAttached):
		return &cli.NotAttachedError{Err: explainBusy(err, o.Label)}
	case ctx.Err() != nil && end.Exit == nil: // 130 would look like the program's exit code
		return fmt.Errorf("%w: ended by a signal; the session goes on", viewer.ErrDisconnected)
	case err != nil:
		return err
	case end.Exit != nil:
		return &cli.ProgramExit{Exit: *end.Exit}
	}
	return nil
}

// explainBusy returns err. If that says that another viewer is attached, it names
// the session by its label, and the commands that help.
func explainBusy(err error, label string) error {
	busy, ok := errors.AsType[*terminal.BusyError](err)
	if !ok {
		return err
	}
	named := terminal.BusyError{Session: label, Writer: busy.Writer}
	return fmt.Errorf("%w: `middleman attach --takeover %s`, `middleman watch %s`", &named, label, label)
}

// linkAgent lets the session's SSH_AUTH_SOCK lead to this shell's agent, if there
// is one and the settings want that.
func (c commands) linkAgent(ctx context.Context, t catalog.Target) {
	socket := os.Getenv(terminal.AgentVariable)
	if socket == "" || !c.Config.Env.SSHAgentLink {
		return
	}
	if err := t.Session.LinkAgent(ctx, socket); err != nil {
		fmt.Fprintf(c.Errs, "middleman: note: %s\n", err)
	}
}

// Attach attaches this terminal to a session that was just started, without the
// server. It returns the program's exit as a *cli.ProgramExit, or nil when the
// user detached.
func Attach(ctx context.Context, c *cli.CLI, s api.Session) error {
	t, err := catalog.Direct(c, s)
	if err != nil {
		return err
	}
	o := viewer.Options{Mode: terminal.ModeAttach}
	if outer := outerSession(); outer != "" {
		return commands{c}.goInstead(ctx, outer, t, o)
	}
	return commands{c}.attach(ctx, t, o)
}
