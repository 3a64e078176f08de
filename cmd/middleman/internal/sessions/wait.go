package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/cmd/middleman/internal/workers"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/terminal"
	"middleman/terminal/await"
)

type waitFlags struct {
	exit       bool
	text       string
	pattern    string
	scrollback bool
	from       string
	quiet      time.Duration
	timeout    time.Duration
	workers    bool
}

func (c commands) waitCommand() *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait TARGET [--exit | --text S | --regex R | --quiet DUR] [--from OFFSET|now | --scrollback] [--timeout DUR] | wait --workers [TARGET]",
		Short: "Wait for a session to exit (default), show something, or be quiet; or for its workers",
		Long: `Wait for a session to exit, to show a text, or to be quiet; or for its workers.

wait searches the present screen, with --scrollback also the lines that have
scrolled away, and then all new output. In a regular expression (RE2)
^ and $ match at each line. If the program exits first, wait searches
once more, and then fails. The API's wait means the same.

With --from it searches only the output from that offset on, as text without
control sequences, and not the screen. send --json, capture --json
and ls --sessions --json print offsets; "now" is the present end of the output.

wait --exit returns the program's exit code. A time-out is exit code 124.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 && !f.workers {
				return cli.Usagef("wait needs a TARGET, or --workers for the workers of this session")
			}
			condition, err := f.condition(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := withTimeout(cmd.Context(), f.timeout)
			defer cancel()
			if f.workers {
				return timedOut(ctx, f.timeout, "workers", workers.Wait(ctx, c.CLI, strings.Join(given, "")))
			}
			return timedOut(ctx, f.timeout, given[0]+f.awaited(), c.wait(ctx, given[0], condition))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.exit, "exit", false, "until the program exits; its exit code is returned")
	flags.StringVar(&f.text, "text", "", "until this text shows")
	flags.StringVar(&f.pattern, "regex", "", "until this regular expression matches")
	flags.BoolVar(&f.scrollback, "scrollback", false, "with --text or --regex: search the lines that have scrolled away too")
	flags.StringVar(&f.from, "from", "", "with --text or --regex: only in output from this `OFFSET` on, or from now on")
	flags.DurationVar(&f.quiet, "quiet", 0, "until there was no output for this long")
	flags.BoolVar(&f.workers, "workers", false, "until all workers of TARGET have ended (default: of this session); the exit code is 0 if each of them exited with 0")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this long, with exit code 124 (default: never)")
	return cmd
}

// errNoTime refuses what may be meant as "at once" or as "never".
var errNoTime = cli.Usagef("--timeout must be above zero: `capture` and `ls` tell what there is now, and without --timeout nothing gives up")

func noTime(cmd *cobra.Command, limit time.Duration) bool {
	return limit == 0 && cmd.Flags().Changed("timeout")
}

// withTimeout bounds ctx, if limit is not 0.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, cli.ErrTimeout)
}

// timedOut returns err, or cli.ErrTimeout in its place if ctx of withTimeout has
// ended by its limit. what is what was waited for.
func timedOut(ctx context.Context, limit time.Duration, what string, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), cli.ErrTimeout) {
		return fmt.Errorf("wait for %s: %w after %s", what, cli.ErrTimeout, limit)
	}
	return err
}

// awaited says what the session is to show, "" for another condition.
func (f *waitFlags) awaited() string {
	const most = 60 // characters of a text
	switch {
	case f.text != "":
		return " to show " + shorten(f.text, most)
	case f.pattern != "":
		return " to match " + shorten(f.pattern, most)
	}
	return ""
}

// condition checks the flags and returns what to wait for.
func (f *waitFlags) condition(cmd *cobra.Command) (c await.Condition, err error) {
	given := 0
	for _, name := range []string{"exit", "text", "regex", "quiet", "workers"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case given > 1:
		return c, cli.Usagef("give only one of --exit, --text, --regex, --quiet and --workers")
	case f.timeout < 0 || f.quiet < 0:
		return c, cli.Usagef("--quiet and --timeout must not be negative")
	case noTime(cmd, f.timeout):
		return c, errNoTime
	case cmd.Flags().Changed("quiet") && f.quiet == 0:
		return c, cli.Usagef("--quiet needs a duration above zero")
	case cmd.Flags().Changed("text"):
		if c.Match, err = await.Text(f.text); err != nil {
			return c, cli.Usagef("--text: %w", err)
		}
	case cmd.Flags().Changed("regex"):
		if c.Match, err = await.Regex(f.pattern); err != nil {
			return c, cli.Usagef("--regex: %w", err)
		}
	case f.scrollback || cmd.Flags().Changed("from"):
		return c, cli.Usagef("--scrollback and --from go with --text or --regex")
	}
	if cmd.Flags().Changed("from") {
		if c.From, err = await.ParseFrom(f.from); err != nil {
			return c, cli.Usagef("--from: %w", err)
		}
		if f.scrollback {
			return c, cli.Usagef("give --from or --scrollback")
		}
	}
	c.Scrollback, c.Quiet = f.scrollback, f.quiet
	return c, nil
}

// wait waits until c holds on the session that target means, which may be one of a deleted
// workspace: how it ended can be asked for later.
func (c commands) wait(ctx context.Context, target string, condition await.Condition) error {
	t, err := catalog.Readable(ctx, c.CLI, target)
	if err != nil {
		return fmt.Errorf("wait for %s: %w", target, err)
	}
	condition.Exit = t.Shown.Exit // as ls has it, whatever became of the session's own record
	var found await.Result
	if c.Runtime != "" && condition.Match == nil {
		found, err = c.waitThere(ctx, t.Shown.ID, condition.Quiet)
	} else {
		found, err = await.Wait(ctx, t.Session, condition)
	}
	switch {
	case errors.Is(err, terminal.ErrGone): // the exit code is unknown, so this must not look like one
		return fmt.Errorf("wait for %s: %w: %w", target, viewer.ErrDisconnected, err)
	case err != nil:
		return fmt.Errorf("wait for %s: %w", target, err)
	}
	if c.JSON {
		if err := c.PrintJSON(waited{found.Match, found.Offset, found.Exit}); err != nil {
			return err
		}
	}
	if condition.Match == nil && condition.Quiet == 0 {
		return &cli.ProgramExit{Exit: *found.Exit}
	}
	return nil
}

const (
	// waitLimit bounds one request that waits on a runtime; the next one waits on.
	waitLimit = 10 * time.Minute
	// waitPause is the time between two requests while the runtime is away.
	waitPause = time.Second
)

// waitThere lets the runtime wait for an exit or for quiet, so that no output comes
// here. While the runtime is away it waits on: the exit is told later too.
func (c commands) waitThere(ctx context.Context, id string, quiet time.Duration) (await.Result, error) {
	told := false
	for {
		var v api.Waited
		err := c.WithServer(ctx, func(ctx context.Context, server *client.Client) (err error) {
			v, err = server.WaitSession(ctx, id, quiet, waitLimit)
			return err
		})
		p, _ := errors.AsType[*api.Problem](err)
		switch {
		case err == nil && quiet == 0 && v.Session.Exit == nil:
			return await.Result{}, terminal.ErrGone
		case err == nil:
			return await.Result{Offset: v.Offset, Exit: v.Session.Exit}, nil
		case ctx.Err() != nil:
			return await.Result{}, context.Cause(ctx)
		case p != nil && p.Code == api.CodeTimeout:
			continue
		case p != nil && p.Code != api.CodeRuntimeLost:
			return await.Result{}, err
		case !told:
			fmt.Fprintf(c.Errs, "middleman: note: waiting on, until there is an answer again: %v\n", err)
			_ = c.Errs.Flush() // Run tells of an error
			told = true
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			return await.Result{}, context.Cause(ctx)
		}
	}
}

// waited is what wait prints with --json: how the condition came to hold, and
// the offset as of which it did.
type waited struct {
	Match  string         `json:"match,omitempty"`
	Offset uint64         `json:"offset"`
	Exit   *terminal.Exit `json:"exit,omitempty"`
}
