package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/server/runtimes"
	"middleman/internal/store"
	"middleman/terminal"
)

const (
	ticketLife = 30 * time.Second
	// maxAccess and maxTickets bound the access tokens and tickets of one caller.
	// Over that, its oldest is dropped.
	maxAccess  = 64
	maxTickets = 64
	// maxSpent bounds the used nonces that are kept, for a minute each. Over that,
	// logins are refused until the oldest expires.
	maxSpent = 4096
	// wsProtocol is the WebSocket subprotocol of terminals. wsTicket is the prefix
	// of a second one that carries a ticket. The answer has only the first.
	wsProtocol = "middleman.v1"
	wsTicket   = "ticket."
)

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// pass is an access token or a ticket. Only the hash of its secret is kept, and
// only in memory: it ends with the server.
type pass struct {
	identity
	ends time.Time
	// path is the URL path that a ticket is for.
	path string
}

// logins has the access tokens, tickets and nonces of logged-in browsers, in
// memory.
type logins struct {
	secret [32]byte // key of the MAC in nonces
	// mu guards the fields below.
	mu      sync.Mutex
	key     *ecdsa.PrivateKey // the server's key; nil until it is first needed
	spent   map[string]time.Time
	access  map[digest]pass
	tickets map[digest]pass
	idle    map[string]*time.Timer // by subject; fires when the login is idle
}

func newLogins() *logins {
	l := &logins{spent: map[string]time.Time{}, access: map[digest]pass{}, tickets: map[digest]pass{}, idle: map[string]*time.Timer{}}
	_, _ = rand.Read(l.secret[:]) // never fails
	return l
}

// grant returns a new access token for login. idle is when the login becomes
// idle: cut is called then, unless the login gets another token before.
func (l *logins) grant(login store.Login, idle, now time.Time, cut func(id string)) (token string) {
	token = store.NewSecret()
	l.mu.Lock()
	defer l.mu.Unlock()
	who := identity{scope: store.ScopeFull, subject: loginSubject(login.ID), login: login.ID, expires: login.ExpiresAt}
	keep(l.access, token, pass{identity: who, ends: now.Add(accessLife)}, maxAccess, now)
	if timer := l.idle[who.subject]; timer != nil {
		timer.Stop()
	}
	l.idle[who.subject] = time.AfterFunc(idle.Sub(now), func() { cut(login.ID) })
	return token
}

// keep adds a pass to passes, ending no later than its holder's credential. It
// drops the passes that have ended and, if the same subject has most already,
// the oldest of these.
func keep(passes map[digest]pass, secret string, p pass, most int, now time.Time) {
	if !p.expires.IsZero() && p.expires.Before(p.ends) {
		p.ends = p.expires
	}
	var oldest digest
	count := 0
	for key, other := range passes {
		if now.After(other.ends) {
			delete(passes, key)
			continue
		}
		if other.subject != p.subject {
			continue
		}
		if count++; count == 1 || other.ends.Before(passes[oldest].ends) {
			oldest = key
		}
	}
	if count >= most {
		delete(passes, oldest)
	}
	passes[digestOf(secret)] = p
}

// look returns the identity of an access token; ok is false if it is not valid.
func (l *logins) look(token string, now time.Time) (identity, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.access[digestOf(token)]
	return p.identity, ok && now.Before(p.ends)
}

// drop forgets all access tokens and tickets of a login or a token.
func (l *logins) drop(subject string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, passes := range []map[digest]pass{l.access, l.tickets} {
		for key, p := range passes {
			if p.subject == subject {
				delete(passes, key)
			}
		}
	}
	if timer := l.idle[subject]; timer != nil {
		timer.Stop()
		delete(l.idle, subject)
	}
}

// stop stops the timers.
func (l *logins) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, timer := range l.idle {
		timer.Stop()
	}
}

type ticketIn struct {
	SessionPath
	Body api.NewTicket
}

// postTicket answers with a ticket for one route of a session. Its holder can do
// nothing else with it.
func (s *Server) postTicket(ctx context.Context, in *ticketIn) (*reply[api.Ticket], error) {
	if _, err := s.Store.Session(ctx, in.Session); err != nil {
		return nil, err
	}
	return s.newTicket(ctx, "/sessions/"+in.Session, in.Body.For, store.ScopeSession, in.Session)
}

type runtimeTicketIn struct {
	runtimes.Path
	SessionPath
	Body api.NewTicket
}

// postRuntimeTicket is postTicket for a session of a runtime. The runtime is not asked.
func (s *Server) postRuntimeTicket(ctx context.Context, in *runtimeTicketIn) (*reply[api.Ticket], error) {
	if _, err := s.runtimes.Get(ctx, in.Runtime); err != nil {
		return nil, problemf(api.CodeNotFound, "there is no runtime %q; `middleman runtime list` lists them", in.Runtime)
	}
	if err := terminal.CheckID(in.Session); err != nil {
		return nil, problemf(api.CodeNotFound, "%v", err)
	}
	return s.newTicket(ctx, "/runtimes/"+in.Runtime+"/sessions/"+in.Session, in.Body.For, store.ScopeRead, "")
}

// newTicket makes a ticket for a route below path. For all but attach its holder has
// only the given scope.
func (s *Server) newTicket(ctx context.Context, path, leaf string, scope store.Scope, session string) (*reply[api.Ticket], error) {
	who, _ := caller(ctx)
	who.holder = who.scope
	if leaf == "attach" {
		if p := permit(ctx, accessFull, ""); p != nil {
			return nil, p
		}
	} else {
		who.scope, who.session = scope, session
	}
	if leaf == "attach" || leaf == "watch" {
		leaf = "terminal"
	}
	secret, now := store.NewSecret(), time.Now()
	p := pass{identity: who, ends: now.Add(ticketLife), path: apiPrefix + path + "/" + leaf}
	s.logins.mu.Lock()
	keep(s.logins.tickets, secret, p, maxTickets, now)
	s.logins.mu.Unlock()
	return &reply[api.Ticket]{api.Ticket{Ticket: secret, ExpiresIn: int(ticketLife.Seconds())}}, nil
}

// ticketOf returns the ticket in r, or "".
func ticketOf(r *http.Request) string {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(line, ",") {
			if ticket, ok := strings.CutPrefix(strings.TrimSpace(protocol), wsTicket); ok {
				return ticket
			}
		}
	}
	if r.Method != http.MethodGet {
		return ""
	}
	return r.URL.Query().Get("ticket")
}

// useTicket returns the identity of a ticket. The ticket is used up even if it is
// for another path.
func (s *Server) useTicket(r *http.Request, ticket string) (*identity, error) {
	key := digestOf(ticket)
	s.logins.mu.Lock()
	p, ok := s.logins.tickets[key]
	delete(s.logins.tickets, key)
	s.logins.mu.Unlock()
	if !ok || time.Now().After(p.ends) || p.path != r.URL.Path {
		return nil, problemf(api.CodeUnauthorized,
			"the ticket was used, has expired, or is for something else: get a new one")
	}
	return &p.identity, nil
}

// identifyAccess returns the identity of an access token, or nil if it is not
// valid.
func (s *Server) identifyAccess(secret string) *identity {
	if id, ok := s.logins.look(secret, time.Now()); ok {
		return &id
	}
	return nil
}
