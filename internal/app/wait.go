package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
)

const (
	// lookPause is how long output may come before the screen is looked at: a
	// program that prints a lot is looked at now and then, not at each byte.
	lookPause = 25 * time.Millisecond
)

// waiter is one wait for something to show on a session.
type waiter struct {
	live  terminal.Session
	match func(screen string) (string, bool) // of text and regex
	quiet time.Duration                      // of quiet
	kind  string
}

// WaitFor says what to wait for.
type WaitFor struct {
	Kind  string        // "exit", "text", "regex" or "quiet"
	Value string        // the text, or the regular expression (RE2; ^ and $ match at each line)
	Quiet time.Duration // how long there must be no output
}

// Wait waits up to limit for something to show on a session: its exit, a text or
// a match of a regular expression on its screen, or quiet.
func (s *App) Wait(ctx context.Context, session string, what WaitFor, limit time.Duration) (api.Waited, error) {
	live, err := s.Terminal(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	w, err := newWaiter(live, what)
	if err != nil {
		return api.Waited{}, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := w.wait(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return api.Waited{}, Refusef(api.CodeTimeout, "waited %s for %s", limit, w)
	}
	if err != nil {
		return api.Waited{}, err
	}
	row, err := s.Store.Session(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	found.For = what.Kind
	found.Session = s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	return found, nil
}

func newWaiter(live terminal.Session, what WaitFor) (*waiter, error) {
	w := &waiter{live: live, kind: what.Kind, quiet: what.Quiet}
	switch what.Kind {
	case "text":
		w.match = func(screen string) (string, bool) { return what.Value, strings.Contains(screen, what.Value) }
	case "regex":
		expr, err := regexp.Compile("(?m)" + what.Value)
		if err != nil {
			return nil, Refusef(api.CodeBadRequest, "value is not a regular expression: %v", err)
		}
		w.match = func(screen string) (string, bool) {
			at := expr.FindStringIndex(screen)
			if at == nil {
				return "", false
			}
			return screen[at[0]:at[1]], true
		}
	case "quiet", "exit":
		return w, nil
	}
	if what.Value == "" {
		return nil, Refusef(api.CodeBadRequest, "value is empty: say what %s to wait for", what.Kind)
	}
	return w, nil
}

// String says what is waited for.
func (w *waiter) String() string {
	if w.kind == "quiet" {
		return fmt.Sprintf("%s without output", w.quiet)
	}
	return "its " + map[string]string{"exit": "exit", "text": "text", "regex": "text that matches"}[w.kind]
}

// wait returns when what is waited for is there. It follows the session as a
// watcher: the screen is looked at once, and again only after output.
func (w *waiter) wait(ctx context.Context) (api.Waited, error) {
	status, err := w.live.Status(ctx)
	if err != nil {
		return api.Waited{}, err
	}
	if status.State.Ended() {
		return w.ended(ctx, status.Head)
	}
	a, err := w.live.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, Client: "wait", From: &status.Head, MaxLag: monitorLag})
	if errors.Is(err, terminal.ErrEnded) {
		return w.ended(ctx, status.Head)
	}
	if err != nil {
		return api.Waited{}, err
	}
	events := watch(a)
	defer events.stop()
	// Joined first and looked at second: nothing falls in between.
	if found, ok, err := w.look(ctx); ok || err != nil {
		return found, err
	}
	return w.follow(ctx, events)
}

func (w *waiter) follow(ctx context.Context, events *attachmentEvents) (api.Waited, error) {
	pause := lookPause
	if w.kind == "quiet" {
		pause = w.quiet
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	if w.kind != "quiet" {
		timer.Stop()
	}
	pending := false
	for {
		select {
		case <-events.output:
			// Quiet begins anew with each output; a look is due a moment after
			// the first, however much follows.
			if w.kind == "quiet" || (w.match != nil && !pending) {
				timer.Reset(pause)
				pending = true
			}
		case <-timer.C:
			pending = false
			if found, ok, err := w.due(ctx); ok || err != nil {
				return found, err
			}
		case end := <-events.end:
			if end.err != nil {
				return api.Waited{}, end.err
			}
			return w.ended(ctx, end.offset)
		case <-ctx.Done():
			return api.Waited{}, ctx.Err()
		}
	}
}

// due is what to do when the timer has run out.
func (w *waiter) due(ctx context.Context) (api.Waited, bool, error) {
	if w.kind != "quiet" {
		return w.look(ctx)
	}
	status, err := w.live.Status(ctx)
	return api.Waited{Offset: status.Head}, err == nil, err
}

// look looks at the screen, where something is to be seen on it.
func (w *waiter) look(ctx context.Context) (api.Waited, bool, error) {
	if w.match == nil {
		return api.Waited{}, false, nil
	}
	c, err := w.live.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	if err != nil {
		return api.Waited{}, false, err
	}
	text, ok := w.match(string(c.Data))
	return api.Waited{Match: text, Offset: c.Offset}, ok, nil
}

// ended is a wait's end at the program's: nothing more will come.
func (w *waiter) ended(ctx context.Context, head uint64) (api.Waited, error) {
	if w.match == nil {
		return api.Waited{Offset: head}, nil
	}
	found, ok, err := w.look(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("wait for %s: %w", w, terminal.ErrEnded)
	}
	return found, err
}

// attachmentEvents are what a wait needs to know of an attachment.
type attachmentEvents struct {
	attachment terminal.Attachment
	output     chan struct{} // of one: "there was output" need not be said twice
	end        chan end      // of one: there is one end
	done       chan struct{}
}

// end is how an attachment ended: at the program's exit, or by an error.
type end struct {
	offset uint64
	err    error
}

// watch reads a to its end, in the background until stop.
func watch(a terminal.Attachment) *attachmentEvents {
	s := &attachmentEvents{attachment: a, output: make(chan struct{}, 1), end: make(chan end, 1), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		var e end
		if err := contained(func() error { e = s.read(); return nil }); err != nil {
			e = end{err: err}
		}
		s.end <- e
	}()
	return s
}

func (s *attachmentEvents) read() end {
	for {
		m, err := s.attachment.Receive()
		if errors.Is(err, io.EOF) {
			err = terminal.ErrUnreachable
		}
		if err != nil {
			return end{err: err}
		}
		switch m.Kind {
		case terminal.MessageOutput, terminal.MessageSnapshot:
			select {
			case s.output <- struct{}{}:
			default:
			}
		case terminal.MessageExit:
			return end{offset: m.Exit.Offset}
		case terminal.MessageDetached:
			return end{err: fmt.Errorf("detached (%s): %w", m.Reason, terminal.ErrUnreachable)}
		}
	}
}

// stop closes the attachment and returns when nobody reads it any more.
func (s *attachmentEvents) stop() {
	_ = s.attachment.Close() // only to wake the reader; the session is not concerned
	<-s.done
}
