package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/store"
	"middleman/terminal"
)

const (
	// firstRetry and lastRetry bound the pause before a session that did not
	// answer is asked again.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
	// titlePause is the least time between two events about one title: a
	// program may set it at every frame.
	titlePause = 250 * time.Millisecond
	// notificationPause is the least time between two notifications of one
	// program. Those in between are dropped.
	notificationPause = time.Second
	// joinTimeout bounds one status request and attach to one session.
	joinTimeout = 10 * time.Second
	// monitorLag is the number of bytes of output that a monitor may be behind.
	// A monitor ignores output, but an old owner may send it.
	monitorLag = 1 << 20
	// monitorClient is the client name of a monitor.
	monitorClient = "server"
)

// monitors has the sessions that have a monitor now. The zero value is ready.
type monitors struct {
	// mu guards attached. It has a key for each monitored session; the value is the
	// monitor's attachment, nil while it has none.
	mu       sync.Mutex
	attached map[string]terminal.Attachment
}

// claim makes the caller the session's only monitor, or reports false if it has
// one already.
func (k *monitors) claim(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.attached == nil {
		k.attached = map[string]terminal.Attachment{}
	}
	if _, taken := k.attached[id]; taken {
		return false
	}
	k.attached[id] = nil
	return true
}

// has reports whether the session has a monitor.
func (k *monitors) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, taken := k.attached[id]
	return taken
}

func (k *monitors) release(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.attached, id)
}

func (k *monitors) set(id string, a terminal.Attachment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.attached[id] = a
}

// attachment returns that of the session's monitor, which is one of the session's
// watchers, or nil.
func (k *monitors) attachment(id string) terminal.Attachment {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.attached[id]
}

// keep monitors a session until it has ended, in the background. It does nothing
// if the session has a monitor.
func (s *App) keep(ctx context.Context, row store.Session) {
	if !s.monitors.claim(row.ID) {
		return
	}
	started := s.watches.start(ctx, func(ctx context.Context) {
		defer s.monitors.release(row.ID)
		s.monitor(ctx, row)
	})
	if !started {
		s.monitors.release(row.ID)
	}
}

// monitor records and publishes a session's exit. It asks a session that does
// not answer again for as long as the server runs: only proof of an end stops it.
func (s *App) monitor(ctx context.Context, row store.Session) {
	defer s.bringWhile(ctx, row)()
	defer s.tellDenials(ctx, row)()
	pause := firstRetry
	for ctx.Err() == nil {
		var ended bool
		err := s.Guarded("watch session "+row.ID, func() (err error) {
			ended, err = s.watchOnce(ctx, row)
			return err
		})
		if ended || ctx.Err() != nil {
			return
		}
		if err == nil {
			pause = firstRetry
		} else {
			s.Log.Warn("session does not answer", "session", row.ID, "error", err)
			s.publishSession(ctx, row.ID)
			pause = min(2*pause, lastRetry)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// watchOnce attaches to the session and follows it until the connection ends.
// ended is true once the session's end is recorded.
func (s *App) watchOnce(ctx context.Context, row store.Session) (ended bool, err error) {
	attachment, ended, err := s.join(ctx, row)
	if attachment == nil {
		return ended, err
	}
	s.monitors.set(row.ID, attachment)
	exit, err := s.follow(ctx, row, attachment)
	s.monitors.set(row.ID, nil)
	switch {
	case exit == nil && provesEnd(err):
		return false, nil // the next call records the end, once
	case exit == nil:
		return false, err
	}
	s.setExit(ctx, row.ID, *exit)
	return true, nil
}

// join attaches to a session that runs, and records the end of one that does
// not. It first waits until fewer than maxAsked sessions are being asked.
func (s *App) join(ctx context.Context, row store.Session) (a terminal.Attachment, ended bool, err error) {
	select {
	case s.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	defer func() { <-s.asking }()
	b, err := s.backend(row)
	if err != nil {
		return nil, false, err
	}
	live := b.Session(row.ID)
	asked, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	status, err := live.Status(asked)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil || status.State.Ended() {
		err = s.settle(ctx, row, status, err)
		return nil, err == nil, err
	}
	if status.State == terminal.StateStarting {
		return nil, false, nil // its owner is about to begin: the next call sees what came of it
	}
	if row.State == terminal.StateStarting {
		s.setState(ctx, row, terminal.StateRunning, "")
	}
	tracked := s.tracked(ctx, row)
	if attention.IsShell(row.Profile, row.Argv) {
		tracked.shell.Store(int64(status.PID))
	}
	a, err = live.Attach(asked, terminal.AttachOptions{
		Mode: terminal.ModeWatch, Client: monitorClient, From: &status.Head, MaxLag: monitorLag,
		NoOutput: true, Activity: tracked.hasRules() || tracked.shell.Load() != 0,
	})
	if errors.Is(err, terminal.ErrEnded) {
		return nil, false, nil // it ended between the two calls; the next call records that
	}
	return a, false, err
}

// follow reads an attachment until it ends. It returns the exit, or nil if the
// attachment ended without one. It closes the attachment.
func (s *App) follow(ctx context.Context, row store.Session, a terminal.Attachment) (exit *terminal.Exit, err error) {
	// Only Close wakes Receive. A second Close does no harm.
	release := context.AfterFunc(ctx, func() { _ = a.Close() })
	defer release()
	defer func() { err = errors.Join(err, a.Close()) }()
	tell := newTeller(make(request, 1), titlePause, nil, func() {
		s.contain("tell of session "+row.ID, func() { s.publishSession(ctx, row.ID) }, nil)
	})
	defer tell.stop()
	tell.soon() // changes before the attach came with no event
	tracked := s.tracked(ctx, row)
	defer s.followAgent(ctx, row, tracked, tell.request)()
	var notified time.Time // when a notification of the program was last published
	for {
		m, err := a.Receive()
		if err != nil {
			return nil, err
		}
		switch m.Kind {
		case terminal.MessageEvent:
			switch m.Event.Kind {
			case terminal.EventOutput:
				tracked.printed()
			case terminal.EventProgress:
				tracked.asked.soon()
			case terminal.EventTitle, terminal.EventSize:
				tracked.asked.soon()
				tell.soon()
			case terminal.EventWriter, terminal.EventUnseen:
				tell.soon()
			case terminal.EventNotification:
				if now := time.Now(); now.Sub(notified) >= notificationPause {
					notified = now
					s.Events.Publish(row.WorkspaceID, api.Event{Type: "notification", ID: row.ID, Text: m.Event.Text})
				}
			}
		case terminal.MessageOutput: // of an owner that cannot tell of it
			tracked.printed()
		case terminal.MessageDetached:
			return nil, nil
		case terminal.MessageExit:
			return &m.Exit, nil
		}
	}
}

// request asks a teller for a call: several become one. Make it with capacity 1.
type request chan struct{}

func (r request) soon() {
	select {
	case r <- struct{}{}:
	default:
	}
}

// teller calls a function soon after each request, and at the times that next
// names, but at most once in a pause.
type teller struct {
	request
	quit chan struct{}
	done sync.WaitGroup
}

// newTeller starts a teller. next returns when to call tell although nobody asks,
// the zero time for never; nil means never.
func newTeller(asked request, pause time.Duration, next func() time.Time, tell func()) *teller {
	t := &teller{request: asked, quit: make(chan struct{})}
	t.done.Go(func() {
		for {
			var later <-chan time.Time
			if next != nil {
				if at := next(); !at.IsZero() {
					later = time.After(time.Until(at))
				}
			}
			select {
			case <-asked:
			case <-later:
			case <-t.quit:
				return
			}
			tell()
			select {
			case <-time.After(pause):
			case <-t.quit:
				return
			}
		}
	})
	return t
}

// stop ends the teller, and blocks until the function has returned.
func (t *teller) stop() {
	close(t.quit)
	t.done.Wait()
}
