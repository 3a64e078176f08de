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

// identity is an authenticated caller.
type identity struct {
	scope store.Scope
	// session is the session that store.ScopeSession may watch, or that
	// store.ScopeOwn is of.
	session string
	// holder is, for a request with a ticket, the scope of the caller that got
	// the ticket; else "".
	holder store.Scope
	// subject is socketSubject, "login:ID", "token:ID" or "session:ID". calls.end
	// ends all open requests of a subject.
	subject string
	// socket is set for a process of this user that came over a Unix socket.
	socket bool
	// confined is set for a process of a sandboxed session: it may use the routes
	// that need accessOwn, and no other.
	confined bool
	// name is the token's name, for a token.
	name string
	// login is, for a login and for a token that it led to, the id of the login.
	login string
	// expires is when the credential expires; zero means never.
	expires time.Time
}

// socketSubject is the subject of every request over the Unix socket.
const socketSubject = "socket"

type identityKey struct{}

// caller returns the authenticated caller of a request; ok is false if there is
// none.
func caller(ctx context.Context) (identity, bool) {
	id, ok := ctx.Value(identityKey{}).(identity)
	return id, ok
}

// withCaller authenticates API requests. It refuses invalid credentials. A
// request without credentials goes on, and reaches only routes that need none.
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
		defer w.(*patientWriter).cutOff(ctx)() // withHeaders made it
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// admit authenticates r. It returns the context for the answer, which has the
// caller's identity and ends when the caller's credential does. Call done once
// the request is answered.
func (s *Server) admit(r *http.Request) (_ context.Context, done func(), err error) {
	for {
		mark := s.calls.mark()
		id, err := s.identify(r)
		if err != nil || id == nil {
			return r.Context(), func() {}, err
		}
		ctx, done, ok := s.calls.track(r.Context(), id.subject, id.expires, mark)
		if ok {
			proved(r, *id)
			ctx = context.WithValue(ctx, identityKey{}, *id)
			s.noteTokenUse(ctx, *id)
			return ctx, done, nil
		}
	}
}

// identify returns the caller's identity, or nil and no error if r has no
// credential.
func (s *Server) identify(r *http.Request) (*identity, error) {
	header := r.Header.Get("Authorization")
	switch {
	case wayOf(r.Context()) == byOwnSocket:
		return s.identifyConfined(r, header)
	case viaSocket(r) && header != "": // asks for no more than its token allows
		return s.identifyOnSocket(r, header)
	case viaSocket(r):
		return &identity{scope: store.ScopeFull, subject: socketSubject, socket: true}, nil
	case header != "":
		return s.identifyToken(r, header)
	}
	if ticket := ticketOf(r); ticket != "" {
		return s.useTicket(r, ticket)
	}
	return nil, nil
}

// bearer returns the secret of an Authorization header.
func bearer(header string) (secret string, err error) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", problemf(api.CodeUnauthorized, "Authorization must be: Bearer TOKEN")
	}
	return secret, nil
}

// identifyOnSocket returns the identity of a process of a session, by the session's
// token, which is taken over the Unix socket alone, or that of another token.
func (s *Server) identifyOnSocket(r *http.Request, header string) (*identity, error) {
	secret, err := bearer(header)
	if err != nil {
		return nil, err
	}
	id, err := s.Store.SessionOfSecret(r.Context(), secret)
	if errors.Is(err, store.ErrNotFound) {
		return s.identifyToken(r, header)
	}
	if err != nil {
		return nil, err
	}
	return &identity{scope: store.ScopeOwn, session: id, subject: "session:" + id, socket: true}, nil
}

// notConfined refuses what the processes of a sandboxed session may not do.
const notConfined = "inside the sandbox a session may report its status, ask for approvals and start workers, by its own token, and nothing else"

// identifyConfined returns the identity of a process of a sandboxed session, by the
// session's token alone. Without one only health can be asked for.
func (s *Server) identifyConfined(r *http.Request, header string) (*identity, error) {
	if header == "" && r.URL.Path == apiPrefix+"/health" {
		return nil, nil
	}
	secret, err := bearer(header)
	if err != nil {
		return nil, err
	}
	id, err := s.Store.SessionOfSecret(r.Context(), secret)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problemf(api.CodeUnauthorized, "this is not the token of a session: %s", notConfined)
	}
	if err != nil {
		return nil, err
	}
	return &identity{scope: store.ScopeOwn, session: id, subject: "session:" + id, socket: true, confined: true}, nil
}

func (s *Server) identifyToken(r *http.Request, header string) (*identity, error) {
	secret, err := bearer(header)
	if err != nil {
		return nil, err
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
	return &identity{scope: token.Scope, session: token.SessionID, subject: "token:" + token.ID, name: token.Label, login: token.Login, expires: token.ExpiresAt}, nil
}

// access is the permission that a route needs.
type access int

const (
	accessFull    access = iota // the default: it may change something
	accessRead                  // it only reads
	accessSession               // it reads only the session in its path
	accessOwn                   // the session in its path itself, by its token, and nobody else
	accessWorker                // that session, or whoever may start sessions anyway
	accessAnybody               // anyone may use it: it reveals nothing
)

// permit returns nil if the caller may use a route that needs need, else the
// problem to answer with. sessionID is the session in the route's path.
func permit(ctx context.Context, need access, sessionID string) *Problem {
	id, ok := caller(ctx)
	switch {
	case id.confined && need != accessOwn && need != accessWorker:
		return problemf(api.CodeForbidden, notConfined)
	case need == accessAnybody:
		return nil
	case !ok:
		return problemf(api.CodeUnauthorized,
			"log in with a link from `middleman open`, or send a token")
	}
	switch {
	case (need == accessOwn || need == accessWorker) && id.scope == store.ScopeOwn && id.session == sessionID:
		return nil
	case need == accessOwn:
		return problemf(api.CodeForbidden, "only session %s itself may do this: it needs the session's own token, which its processes have as MIDDLEMAN_TOKEN", sessionID)
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
		return problemf(api.CodeForbidden, "the ticket was given for another request: get one for this request")
	}
	return problemf(api.CodeForbidden, "the token's scope is %s, which does not cover this", cmp.Or(id.holder, id.scope))
}
