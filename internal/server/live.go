package server

import (
	"context"
	"sync"
	"time"

	"middleman/terminal/ws"
)

// calls has the requests that are being answered, by subject. When a login or a
// token ends, its open requests end too: a WebSocket with an error message, an
// event stream by closing its connection, a wait with status 401.
type calls struct {
	// drop forgets the access tokens and tickets of a subject, and closes its
	// connections, those of open requests once they have ended.
	drop func(subject string)
	// mu guards the fields below.
	mu   sync.Mutex
	ends uint64 // how many times end was called
	open map[string]map[*context.CancelCauseFunc]struct{}
}

// mark returns a value for track. Take it before the credential is checked.
func (c *calls) mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends
}

// track returns a context that ends with ctx, at expires unless that is zero, or
// when end is called for subject. In the last two cases its cause is
// ws.ErrUnauthorized. Call done once the request is answered. ok is false if end
// was called since mark: the credential may have just ended, so check it again.
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

// end ends all open requests of subject. Revoke the credential first, so that no
// new request begins.
func (c *calls) end(subject string) {
	c.drop(subject)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends++
	for cancel := range c.open[subject] {
		(*cancel)(ws.ErrUnauthorized)
	}
}
