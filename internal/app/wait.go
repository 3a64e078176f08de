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
	// lookPause is the time from the first new output to the next look at the
	// screen, so that a program that prints a lot does not cause a look per byte.
	lookPause = 25 * time.Millisecond
)

// waiter is one wait for a condition on a session.
type waiter struct {
	live  terminal.Session
	match func(screen string) (string, bool) // for kinds text and regex, else nil
	quiet time.Duration                      // for kind quiet
	kind  string
}

// WaitFor is the condition to wait for.
type WaitFor struct {
	Kind  string        // "exit", "text", "regex" or "quiet"
	Value string        // the text, or the regular expression (RE2; ^ and $ match at each line)
	Quiet time.Duration // how long there must be no output
}

// Wait blocks until a condition holds on a session: it has exited, its screen
// contains a text or matches a regular expression, or it has printed nothing for
// a while. After limit the error is a *Refusal with api.CodeTimeout. If the
// session ends and its last screen does not match, it is terminal.ErrEnded.
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

// String describes the condition, for errors.
func (w *waiter) String() string {
	if w.kind == "quiet" {
		return fmt.Sprintf("%s without output", w.quiet)
	}
	return "its " + map[string]string{"exit": "exit", "text": "text", "regex": "text that matches"}[w.kind]
}

// wait returns when the condition holds. It follows the session as a watcher. It
// looks at the screen once, and again only after output.
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
	// Attach first and look second, so that no output in between is missed.
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
			// Each output restarts the time for quiet. For text and regex, only the
			// first output since the last look starts the timer.
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

// due checks the condition when the timer has fired. For quiet, that is enough.
func (w *waiter) due(ctx context.Context) (api.Waited, bool, error) {
	if w.kind != "quiet" {
		return w.look(ctx)
	}
	status, err := w.live.Status(ctx)
	return api.Waited{Offset: status.Head}, err == nil, err
}

// look captures the screen and matches it. It does nothing for other kinds.
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

// ended ends the wait when the program has ended: exit and quiet hold then, and
// the last screen is matched for text and regex.
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

// attachmentEvents turns an attachment into the two events that a wait needs.
type attachmentEvents struct {
	attachment terminal.Attachment
	output     chan struct{} // capacity 1: several outputs may be one event
	end        chan end      // capacity 1: there is only one end
	done       chan struct{}
}

// end is how an attachment ended: at the program's exit, or by an error.
type end struct {
	offset uint64
	err    error
}

// watch reads a in the background, until a ends or stop is called.
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

// stop closes the attachment and blocks until the reader has returned.
func (s *attachmentEvents) stop() {
	_ = s.attachment.Close() // wakes the reader; an error says nothing about the session
	<-s.done
}
