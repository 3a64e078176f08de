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
	"middleman/internal/store"
)

const (
	ticketLife = 30 * time.Second
	// Of one caller; with more, its oldest is dropped.
	maxAccess  = 64
	maxTickets = 64
	// maxSpent is how many used nonces are kept, for a minute; with more, logins
	// wait for the oldest to expire.
	maxSpent = 4096
	// wsProtocol is the subprotocol of terminals, wsTicket begins the one that
	// carries a ticket. Only the first is in the answer.
	wsProtocol = "middleman.v1"
	wsTicket   = "ticket."
)

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// pass lets its holder in until it ends. Its secret is kept as a hash, in
// memory alone: no server knows those of the server before it.
type pass struct {
	identity
	ends time.Time
	// path is what a ticket opens.
	path string
}

// logins are the secrets in memory of those who are logged in.
type logins struct {
	secret [32]byte // keys nonces
	// mu guards the fields below.
	mu      sync.Mutex
	key     *ecdsa.PrivateKey // the server's, once it was read
	spent   map[string]time.Time
	access  map[digest]pass
	tickets map[digest]pass
	idle    map[string]*time.Timer // by subject, since it was last used here
}

func newLogins() *logins {
	l := &logins{spent: map[string]time.Time{}, access: map[digest]pass{}, tickets: map[digest]pass{}, idle: map[string]*time.Timer{}}
	_, _ = rand.Read(l.secret[:]) // never fails
	return l
}

// grant returns an access token of login, which is idle at that time: cut is
// called for it then, unless it gets another token before.
func (l *logins) grant(login store.Login, idle, now time.Time, cut func(id string)) (token string) {
	token = store.NewSecret()
	l.mu.Lock()
	defer l.mu.Unlock()
	who := identity{scope: store.ScopeFull, subject: loginSubject(login.ID), expires: login.ExpiresAt}
	keep(l.access, token, pass{identity: who, ends: now.Add(accessLife)}, maxAccess, now)
	if timer := l.idle[who.subject]; timer != nil {
		timer.Stop()
	}
	l.idle[who.subject] = time.AfterFunc(idle.Sub(now), func() { cut(login.ID) })
	return token
}

// keep adds a pass, no longer than its holder's credential lasts, drops those that have ended, and the oldest of the same
// subject where it has too many.
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

// look returns who an access token is of.
func (l *logins) look(token string, now time.Time) (identity, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.access[digestOf(token)]
	return p.identity, ok && now.Before(p.ends)
}

// drop forgets what a login has, or the tickets of a token.
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

// stop ends the timers.
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

// postTicket gives a ticket for one thing of a session. Its holder can do no
// more than that.
func (s *Server) postTicket(ctx context.Context, in *ticketIn) (*reply[api.Ticket], error) {
	if _, err := s.Store.Session(ctx, in.Session); err != nil {
		return nil, err
	}
	who, _ := caller(ctx)
	who.holder = who.scope
	leaf := in.Body.For
	if leaf == "attach" {
		if p := permit(ctx, accessFull, ""); p != nil {
			return nil, p
		}
	} else {
		who.scope, who.session = store.ScopeSession, in.Session
	}
	if leaf == "attach" || leaf == "watch" {
		leaf = "terminal"
	}
	secret, now := store.NewSecret(), time.Now()
	p := pass{identity: who, ends: now.Add(ticketLife), path: apiPrefix + "/sessions/" + in.Session + "/" + leaf}
	s.logins.mu.Lock()
	keep(s.logins.tickets, secret, p, maxTickets, now)
	s.logins.mu.Unlock()
	return &reply[api.Ticket]{api.Ticket{Ticket: secret, ExpiresIn: int(ticketLife.Seconds())}}, nil
}

// ticketOf returns the ticket that r carries, or "".
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

// useTicket takes a ticket, which is spent whatever it is used for.
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

// identifyAccess returns who an access token is of, nil where it is none.
func (s *Server) identifyAccess(secret string) *identity {
	if id, ok := s.logins.look(secret, time.Now()); ok {
		return &id
	}
	return nil
}
