package await

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"middleman/terminal"
)

// settle is the time from the first output after a look at the screen to the
// next look, so that a program that prints a lot does not cause a look per
// byte.
const settle = 25 * time.Millisecond

// Now as Condition.From means the head when the wait begins.
const Now = ^uint64(0)

// Condition says what to wait for. The zero value is the program's exit.
type Condition struct {
	// Match, unless nil, waits for a text. It is looked for on the present
	// screen, then in the text that is printed (control sequences removed), and
	// on the screen whenever something was printed.
	Match Match
	// Scrollback looks for it in the present scrollback too, and in that of the
	// last screen if the program ends.
	Scrollback bool
	// From, unless nil, looks for it in nothing but the text that is printed
	// from this offset on. Now is the present head.
	From *uint64
	// Quiet, unless 0, waits until nothing was printed for so long.
	Quiet time.Duration
	// Exit is how the program ended, if that was recorded elsewhere too; else nil. It
	// counts where the session has no exit record any more.
	Exit *terminal.Exit
}

// ParseFrom parses an offset for Condition.From: a number of bytes, or "now".
func ParseFrom(text string) (*uint64, error) {
	from := Now
	if text != "now" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil || from == Now {
			return nil, fmt.Errorf("%q must be an offset, a number of bytes, or now", text)
		}
	}
	return &from, nil
}

// Result is how a condition came to hold.
type Result struct {
	// Match is the text that matched.
	Match string
	// Offset is the offset as of which the condition held.
	Offset uint64
	// Exit is the program's exit, or nil if it runs.
	Exit *terminal.Exit
}

// NotShownError says that the program ended before the awaited text showed. It
// is terminal.ErrEnded too.
type NotShownError struct{ Exit terminal.Exit }

func (e *NotShownError) Error() string {
	return fmt.Sprintf("the program exited with %d before its screen matched", e.Exit.Status())
}

func (e *NotShownError) Unwrap() error { return terminal.ErrEnded }

// Wait blocks until c holds on s, or until ctx ends. The program's end is quiet
// too. If the program ends and the text did not show, the error is a
// *NotShownError; if the session is proved dead without an exit record, and c has none,
// terminal.ErrGone. A session that does not answer is asked again for three
// seconds, and then is terminal.ErrUnreachable. An offset in From that is no
// longer kept is a *terminal.TrimmedError, one beyond the head
// terminal.ErrRange.
func Wait(ctx context.Context, s terminal.Session, c Condition) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	status, err := answering(ctx, s)
	if err != nil {
		return Result{}, err
	}
	w := &waiter{session: s, c: c, head: status.Head}
	if c.Match != nil {
		w.printed = newPrinted(c.Match)
	}
	if c.From != nil && *c.From != Now {
		w.head = *c.From
		if w.head > status.Head {
			return Result{}, fmt.Errorf("%d bytes were printed, asked for those from %d: %w", status.Head, w.head, terminal.ErrRange)
		}
		if w.head < status.Oldest {
			return Result{}, &terminal.TrimmedError{Offset: w.head, Oldest: status.Oldest}
		}
	}
	// Output from w.head on comes by following, so nothing is missed between the
	// look and that.
	if r, ok, err := w.look(ctx, c.Scrollback); ok || err != nil {
		return r, err
	}
	return w.follow(ctx)
}

// answering returns the status, and asks again for a while if nobody answers.
func answering(ctx context.Context, s terminal.Session) (terminal.Status, error) {
	for began := time.Now(); ; {
		status, err := s.Status(ctx)
		if !errors.Is(err, terminal.ErrUnreachable) || ctx.Err() != nil || time.Since(began) > silence {
			return status, err
		}
		if err := pause(ctx, askAgain); err != nil {
			return status, err
		}
	}
}

// waiter is one wait.
type waiter struct {
	session terminal.Session
	c       Condition
	head    uint64   // the output below it was looked at
	printed *printed // nil without Match
}

// news is one thing that a followed session did: it printed, or it ended.
type news struct {
	output []byte
	head   uint64 // after output
	ended  bool
	exit   *terminal.Exit
	err    error
	panic  any
}

// start follows the session until ctx ends. The channel has space for 16 pieces
// of output: a slow reader makes the watcher lag, and never blocks the program.
// A panic while following is passed on, so that it ends the caller's wait alone.
func (w *waiter) start(ctx context.Context) <-chan news {
	told := make(chan news, 16)
	tell := func(n news) error {
		select {
		case told <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := &Stream{Session: w.session, Client: "wait", From: w.head}
	if w.c.Match != nil || w.c.Quiet > 0 {
		s.Write = func(p []byte) error { return tell(news{output: bytes.Clone(p), head: s.From}) }
	}
	go func() {
		defer close(told)
		defer func() {
			if value := recover(); value != nil {
				tell(news{ended: true, panic: fmt.Sprintf("%v\n%s", value, debug.Stack())})
			}
		}()
		exit, err := s.Follow(ctx)
		tell(news{ended: true, exit: exit, err: err})
	}()
	return told
}

// follow waits for the condition in what the session does from w.head on.
func (w *waiter) follow(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	told := w.start(ctx)
	defer func() {
		cancel()
		for range told { // until the goroutine has ended
		}
	}()
	var alarm <-chan time.Time // when to look at the screen, or for quiet; nil if there is no need to
	if w.c.Quiet > 0 {
		alarm = time.After(w.c.Quiet)
	}
	for {
		select {
		case n, ok := <-told:
			switch {
			case ctx.Err() != nil || !ok:
				return Result{}, ctx.Err()
			case n.panic != nil:
				panic(n.panic)
			case n.ended:
				return w.ended(ctx, n)
			}
			w.head = n.head
			if w.c.Quiet > 0 {
				alarm = time.After(w.c.Quiet)
			} else if found, ok := w.printed.take(n.output); ok {
				return Result{Match: found, Offset: w.head}, nil
			} else if alarm == nil && w.c.From == nil {
				alarm = time.After(settle)
			}
		case <-alarm:
			if w.c.Quiet > 0 {
				return Result{Offset: w.head}, nil
			}
			alarm = nil
			if r, ok, err := w.look(ctx, false); ok || err != nil {
				return r, err
			}
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

// look looks for the text on the screen, if it counts there.
func (w *waiter) look(ctx context.Context, scrollback bool) (Result, bool, error) {
	if w.c.Match == nil || w.c.From != nil {
		return Result{}, false, nil
	}
	shot, err := w.session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText, Scrollback: scrollback})
	if err != nil {
		if errors.Is(err, terminal.ErrUnreachable) && ctx.Err() == nil {
			err = nil // following goes on, or says so
		}
		return Result{}, false, err
	}
	at := w.c.Match(shot.Data)
	if at == nil {
		return Result{}, false, nil
	}
	return Result{Match: string(shot.Data[at[0]:at[1]]), Offset: shot.Offset}, true, nil
}

// ended ends the wait when the session has ended. The last screen may show the
// text.
func (w *waiter) ended(ctx context.Context, n news) (Result, error) {
	if errors.Is(n.err, terminal.ErrGone) && w.c.Exit != nil {
		n.exit, n.err = w.c.Exit, nil
	}
	if n.err != nil {
		return Result{}, n.err
	}
	r, ok, err := w.look(ctx, w.c.Scrollback)
	switch {
	case err != nil:
		return Result{}, err
	case w.c.Match != nil && !ok:
		return Result{}, &NotShownError{*n.exit}
	case w.c.Match == nil:
		r.Offset = n.exit.Offset
	}
	r.Exit = n.exit
	return r, nil
}
