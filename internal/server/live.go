package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"middleman/internal/api"
	"middleman/internal/store"
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

// Callers that may only watch take at most seatsEach places of a session's watchers for
// one token, and seatsAll together: the others stay for those with full rights.
const (
	seatsEach = 16
	seatsAll  = 24
)

// guestsOf stands for the token of those that a hub with full rights lets watch: the hub
// counts them by token, and this server together.
const guestsOf = "guests of "

// seats counts the viewers that may only watch.
type seats struct {
	// mu guards the field below.
	mu    sync.Mutex
	taken map[string]map[string]int // by session and subject
}

// take takes a place at a session. The caller calls leave when the viewer has left. ok is
// false if there is none for that subject.
func (s *seats) take(session, subject string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.taken[session] {
		all += n
	}
	if all >= seatsAll || s.taken[session][subject] >= seatsEach && !strings.HasPrefix(subject, guestsOf) {
		return nil, false
	}
	if s.taken == nil {
		s.taken = map[string]map[string]int{}
	}
	if s.taken[session] == nil {
		s.taken[session] = map[string]int{}
	}
	s.taken[session][subject]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taken[session][subject]--; s.taken[session][subject] == 0 {
			delete(s.taken[session], subject)
		}
		if len(s.taken[session]) == 0 {
			delete(s.taken, session)
		}
	}, true
}

// withSeat lets a caller that may only watch have a place at a session, here or on a
// runtime, for as long as it watches its terminal or waits for what it does: a wait is a
// watcher of the session's owner too.
func (s *Server) withSeat(ctx huma.Context, next func(huma.Context)) {
	subject, limited := guest(ctx)
	if !limited {
		next(ctx)
		return
	}
	leave, ok := s.seats.take(ctx.Param("runtime")+":"+ctx.Param("session"), subject)
	if !ok {
		_, w := humago.Unwrap(ctx)
		refuse(w, problemf(api.CodeTooManyView, "the session has as many viewers as may watch it with tokens of this kind"))
		return
	}
	defer leave()
	next(ctx)
}

// guest reports whether a request takes a place that is limited, and whose it is. One
// with full rights does not, by a ticket either, unless it is a hub's for a caller of the
// hub that may only watch.
func guest(ctx huma.Context) (subject string, limited bool) {
	path := ctx.Operation().Path
	if !strings.HasSuffix(path, "/sessions/{session}/terminal") && !strings.HasSuffix(path, "/sessions/{session}/wait") {
		return "", false
	}
	id, _ := caller(ctx.Context())
	switch {
	case !full(id):
		return id.subject, true
	case guestQuery(ctx.Query(ws.GuestKey)):
		return guestsOf + id.subject, true
	}
	return "", false
}

// full reports whether a caller has full rights, or a ticket of one that has.
func full(id identity) bool { return id.scope == store.ScopeFull || id.holder == store.ScopeFull }

// guestQuery is whether the value of ws.GuestKey says so: every one but those for no.
func guestQuery(value string) bool {
	yes, err := strconv.ParseBool(value)
	return value != "" && (err != nil || yes)
}

// Guest implements runtimes.Server.
func (s runtimeServer) Guest(r *http.Request) bool {
	id, _ := caller(r.Context())
	return !full(id) || guestQuery(r.URL.Query().Get(ws.GuestKey))
}
