package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/cmd/middleman/internal/workers"
	"middleman/terminal"
)

const (
	// settle is how long output must pause before the screen is checked again.
	settle = 50 * time.Millisecond
	// tailBytes is how much recent text is kept, for matches across messages.
	tailBytes = 64 << 10
)

type waitFlags struct {
	exit    bool
	text    string
	pattern string
	quiet   time.Duration
	timeout time.Duration
	workers bool
}

func (c commands) waitCommand() *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait TARGET [--exit | --text S | --regex R | --quiet DUR] [--timeout DUR] | wait --workers [TARGET]",
		Short: "Wait for a session to exit (default), show something, or be quiet; or for its workers",
		Args:  cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 && !f.workers {
				return cli.Usagef("wait needs a TARGET, or --workers for the workers of this session")
			}
			match, err := f.matcher(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if f.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, cli.ErrTimeout)
				defer cancel()
			}
			if f.workers {
				err := workers.Wait(ctx, c.CLI, strings.Join(given, ""))
				if err != nil && errors.Is(context.Cause(ctx), cli.ErrTimeout) {
					return fmt.Errorf("wait for workers: %w after %s", cli.ErrTimeout, f.timeout)
				}
				return err
			}
			t, err := catalog.Find(ctx, c.CLI, given[0])
			if err == nil {
				err = askAgain(ctx, func() error { return f.wait(ctx, t.Session, match) })
			}
			if err != nil && errors.Is(context.Cause(ctx), cli.ErrTimeout) {
				return fmt.Errorf("wait for %s: %w after %s", given[0], cli.ErrTimeout, f.timeout)
			}
			if errors.Is(err, terminal.ErrGone) { // the exit code is unknown, so this must not look like one
				return fmt.Errorf("wait for %s: %w: %w", given[0], viewer.ErrDisconnected, err)
			}
			if _, own := errors.AsType[*cli.ProgramExit](err); err != nil && !own {
				return fmt.Errorf("wait for %s: %w", given[0], err)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.exit, "exit", false, "until the program exits; its exit code is returned")
	flags.StringVar(&f.text, "text", "", "until this text shows")
	flags.StringVar(&f.pattern, "regex", "", "until this regular expression matches")
	flags.DurationVar(&f.quiet, "quiet", 0, "until there was no output for this long")
	flags.BoolVar(&f.workers, "workers", false, "until all workers of TARGET have ended (default: of this session); the exit code is 0 if theirs all are")
	flags.DurationVar(&f.timeout, "timeout", 0, "give up after this long, with exit code 124 (default: never)")
	return cmd
}

// matcher checks the flags. It returns the test of --text or --regex, or nil
// without these.
func (f *waitFlags) matcher(cmd *cobra.Command) (func([]byte) bool, error) {
	given := 0
	for _, name := range []string{"exit", "text", "regex", "quiet", "workers"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, cli.Usagef("give only one of --exit, --text, --regex, --quiet and --workers")
	case f.timeout < 0 || f.quiet < 0:
		return nil, cli.Usagef("--quiet and --timeout must not be negative")
	case cmd.Flags().Changed("quiet") && f.quiet == 0:
		return nil, cli.Usagef("--quiet needs a duration above zero")
	case cmd.Flags().Changed("text"):
		if f.text == "" {
			return nil, cli.Usagef("--text is empty: give the text to wait for")
		}
		return func(p []byte) bool { return bytes.Contains(p, []byte(f.text)) }, nil
	case cmd.Flags().Changed("regex"):
		re, err := regexp.Compile(f.pattern)
		if err != nil {
			return nil, cli.Usagef("--regex: %w", err)
		}
		return re.Match, nil
	}
	return nil, nil
}

func (f *waitFlags) wait(ctx context.Context, s terminal.Session, match func([]byte) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news, join, err := watch(ctx, s)
	if err != nil {
		return err
	}
	defer join()
	switch {
	case match != nil:
		return waitText(ctx, s, news, match)
	case f.quiet > 0:
		return waitQuiet(ctx, news, f.quiet)
	}
	return waitExit(ctx, news)
}

// news is one event of a watched session: output, an exit, or an error that
// ends the watching.
type news struct {
	output []byte
	exit   *terminal.Exit
	err    error
}

// watch watches s from its present head until ctx ends. The channel has room
// for 16 events: a slow reader makes the watcher lag, and never blocks the
// program. After ctx ends, join waits for the watcher.
func watch(ctx context.Context, s terminal.Session) (_ <-chan news, join func(), err error) {
	status, err := s.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	switch status.State {
	case terminal.StateLost:
		return nil, nil, terminal.ErrGone
	case terminal.StateExited:
		told := make(chan news, 1)
		told <- news{exit: status.Exit}
		return told, func() {}, nil
	}
	att, err := s.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, Client: "wait", From: &status.Head})
	if err != nil {
		return nil, nil, err
	}
	told, done := make(chan news, 16), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { att.Close() })
	go func() {
		defer close(done)
		defer close(told)
		relay(ctx, att, told)
	}()
	return told, func() {
		stop()
		att.Close()
		for range told {
		}
		<-done
	}, nil
}

func relay(ctx context.Context, att terminal.Attachment, told chan<- news) {
	for {
		m, err := att.Receive()
		var n news
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			n.err = err
		case m.Kind == terminal.MessageOutput, m.Kind == terminal.MessageSnapshot:
			n.output = bytes.Clone(m.Data)
		case m.Kind == terminal.MessageExit:
			n.exit = &m.Exit
		case m.Kind == terminal.MessageDetached:
			n.err = fmt.Errorf("%w: the session stopped this viewer (%s)", terminal.ErrUnreachable, m.Reason)
		default:
			continue
		}
		select {
		case told <- n:
		case <-ctx.Done():
			return
		}
		if n.err != nil {
			return
		}
	}
}

// next waits for the next event, or until alarm fires, which rang reports.
func next(ctx context.Context, told <-chan news, alarm <-chan time.Time) (n news, rang bool, err error) {
	select {
	case n, ok := <-told:
		if ctx.Err() != nil {
			return news{}, false, ctx.Err()
		}
		if !ok {
			return news{}, false, terminal.ErrUnreachable
		}
		return n, false, n.err
	case <-alarm:
		return news{}, true, nil
	case <-ctx.Done():
		return news{}, false, ctx.Err()
	}
}

func waitExit(ctx context.Context, told <-chan news) error {
	for {
		n, _, err := next(ctx, told, nil)
		if err != nil {
			return err
		}
		if n.exit != nil {
			return &cli.ProgramExit{Exit: *n.exit}
		}
	}
}

func waitQuiet(ctx context.Context, told <-chan news, quiet time.Duration) error {
	for {
		alarm := time.NewTimer(quiet)
		n, rang, err := next(ctx, told, alarm.C)
		alarm.Stop()
		if rang || n.exit != nil || err != nil {
			return err
		}
	}
}

// waitText checks the screen, then all text that arrives, and the screen again
// whenever output pauses, because a program may draw a text in pieces.
func waitText(ctx context.Context, s terminal.Session, told <-chan news, match func([]byte) bool) error {
	var tail bytes.Buffer
	text := viewer.PlainText(&tail)
	var exit *terminal.Exit
	for {
		shot, err := s.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText, Scrollback: true})
		if err != nil {
			return err
		}
		if match(shot.Data) {
			return nil
		}
		if exit != nil {
			return fmt.Errorf("the program exited with %d before its screen matched", exit.Status())
		}
		var alarm <-chan time.Time // nil until there is output
		for rang := false; !rang && exit == nil; {
			var n news
			if n, rang, err = next(ctx, told, alarm); err != nil {
				return err
			}
			text.Write(n.output)
			if match(tail.Bytes()) {
				return nil
			}
			tail.Next(max(0, tail.Len()-tailBytes))
			exit = n.exit
			alarm = time.After(settle)
		}
	}
}

const (
	askAgainFor   = 3 * time.Second
	askAgainEvery = 50 * time.Millisecond
)

// askAgain calls ask until it returns anything but terminal.ErrUnreachable, for
// up to three seconds. An owner may start or end meanwhile, and sends no event
// for that.
func askAgain(ctx context.Context, ask func() error) error {
	deadline := time.NewTimer(askAgainFor)
	defer deadline.Stop()
	tick := time.NewTicker(askAgainEvery)
	defer tick.Stop()
	for {
		err := ask()
		if !errors.Is(err, terminal.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
