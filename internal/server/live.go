package server

import (
	"context"
	"sync"
	"time"

	"middleman/terminal/ws"
)

// calls are the requests that are being answered, by who made them. What a
// login or a token has open ends with it: a WebSocket with an error message,
// an event stream with its connection, a wait with a 401.
type calls struct {
	// drop forgets what a subject could open more with.
	drop func(subject string)
	// mu guards the fields below.
	mu   sync.Mutex
	ends uint64 // how often end was called
	open map[string]map[*context.CancelCauseFunc]struct{}
}

// mark is taken before a caller's credential is looked at, for track.
func (c *calls) mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends
}

// track returns a context that ends with ctx, at expires (never where that is
// zero), or when end is called for subject; its cause is ws.ErrUnauthorized in
// the last two cases. The caller calls done once its request is answered. track
// refuses where end was called since mark: the credential may be the one that
// has ended, so it is looked at again.
func (c *calls) track(ctx context.Context, subject string, expires time.Time, mark uint64) (_ context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends != mark {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.CancelFunc(func() {})
	if !expires.IsZero() {
		ctx, stop = context.WithDeadlineCause(ctx, expires, ws.ErrUnauthorized)
	}
	if c.open == nil {
		c.open = map[string]map[*context.CancelCauseFunc]struct{}{}
	}
	if c.open[subject] == nil {
		c.open[subject] = map[*context.CancelCauseFunc]struct{}{}
	}
	c.open[subject][&cancel] = struct{}{}
	return ctx, func() {
		c.forget(subject, &cancel)
		stop()
		cancel(nil)
	}, true
}

func (c *calls) forget(subject string, call *context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open[subject], call)
	if len(c.open[subject]) == 0 {
		delete(c.open, subject)
	}
}

// end ends all that subject has open. Its credential must have been revoked
// before, so that nothing new begins.
func (c *calls) end(subject string) {
	c.drop(subject)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends++
	for cancel := range c.open[subject] {
		(*cancel)(ws.ErrUnauthorized)
	}
}
