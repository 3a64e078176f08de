package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
)

// identity is who asks, once that is proved.
type identity struct {
	scope store.Scope
	// session is the one that store.ScopeSession may watch.
	session string
	// holder is the scope of whoever got the ticket that asks, "" without one.
	holder store.Scope
	// subject tells callers apart: "socket", "login:ID" or "token:ID". What a
	// subject has open ends by calls.end.
	subject string
	// name is a token's.
	name string
	// expires is when the credential does, zero for never.
	expires time.Time
}

type identityKey struct{}

// caller is who asks, and whether anybody has proved to.
func caller(ctx context.Context) (identity, bool) {
	id, ok := ctx.Value(identityKey{}).(identity)
	return id, ok
}

// withCaller finds out who asks. Credentials that do not hold are refused
// here; a request without any goes on, to what needs none.
func (s *Server) withCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAPI(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, done, err := s.admit(r)
		if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if err != nil {
			p := s.problem(err)
			s.recordRefusal(r, p)
			refuse(w, p)
			return
		}
		defer done()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// admit returns the context that r is answered in, which knows who asks and
// ends with the caller's credential.
func (s *Server) admit(r *http.Request) (_ context.Context, done func(), err error) {
	for {
		mark := s.calls.mark()
		id, err := s.identify(r)
		if err != nil || id == nil {
			return r.Context(), func() {}, err
		}
		ctx, done, ok := s.calls.track(r.Context(), id.subject, id.expires, mark)
		if ok {
			proved(r)
			ctx = context.WithValue(ctx, identityKey{}, *id)
			s.noteTokenUse(ctx, *id)
			return ctx, done, nil
		}
	}
}

// identify returns nil without an error where nobody claims to be anybody.
func (s *Server) identify(r *http.Request) (*identity, error) {
	if viaSocket(r) {
		return &identity{scope: store.ScopeFull, subject: "socket"}, nil
	}
	if header := r.Header.Get("Authorization"); header != "" {
		return s.identifyToken(r, header)
	}
	if ticket := ticketOf(r); ticket != "" {
		return s.useTicket(r, ticket)
	}
	return nil, nil
}

func (s *Server) identifyToken(r *http.Request, header string) (*identity, error) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return nil, problemf(api.CodeUnauthorized, "Authorization must be: Bearer TOKEN")
	}
	if id := s.identifyAccess(secret); id != nil {
		return id, nil
	}
	token, err := s.Store.UseToken(r.Context(), secret, time.Now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, problemf(api.CodeUnauthorized, "the token is not valid, or has expired")
	}
	if err != nil {
		return nil, err
	}
	return &identity{scope: token.Scope, session: token.SessionID, subject: "token:" + token.ID, name: token.Label, expires: token.ExpiresAt}, nil
}

// access is what a route asks of its caller.
type access int

const (
	accessFull    access = iota // by default: it changes something
	accessRead                  // it only looks
	accessSession               // it looks at the one session in its path
	accessAnybody               // it tells nothing
)

// permit says why the caller may not use a route, or returns nil. sessionID
// is the session in the route's path.
func permit(ctx context.Context, need access, sessionID string) *Problem {
	if need == accessAnybody {
		return nil
	}
	id, ok := caller(ctx)
	if !ok {
		return problemf(api.CodeUnauthorized,
			"log in with a link from `middleman open`, or send a token")
	}
	switch id.scope {
	case store.ScopeFull:
		return nil
	case store.ScopeRead:
		if need == accessRead || need == accessSession {
			return nil
		}
	case store.ScopeSession:
		if need == accessSession && id.session == sessionID {
			return nil
		}
	}
	if id.holder == store.ScopeFull {
		return problemf(api.CodeForbidden, "the ticket was not given for this: get one that is")
	}
	return problemf(api.CodeForbidden, "the token's scope is %s, which does not cover this", cmp.Or(id.holder, id.scope))
}
