package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/es256"
	"middleman/internal/listen"
	"middleman/internal/plaintext"
	"middleman/internal/store"
	"middleman/terminal"
)

// A browser's login, step by step. It uses no cookie, because browsers send a
// cookie to every port of a host, hence also to servers of other users.
//
//  1. `middleman open` gets a link (POST /login-links). The link's secret is in
//     its fragment, which browsers send to no server.
//  2. The page trades the secret for a login (POST /login): it makes a key pair
//     whose private key cannot be exported, and both sides keep the other's
//     public key.
//  3. When it needs an access token, the page gets a nonce with the server's
//     signature (POST /login/challenge), and signs it in turn (POST
//     /login/access). The token is only in memory, on both sides, and is valid
//     for ten minutes.
//  4. A request that cannot have an Authorization header, a WebSocket or a
//     download, has a ticket for that one request. The page gets it with the
//     access token.
//
// Both signatures include the server's instance and the page's origin, and a
// login is valid only for the port that the server had then. So a program that
// takes over this port later can neither pose as the server to a page that is
// still open, nor relay the page's signature to the server at another port.
const (
	linkLife   = 10 * time.Minute
	loginLife  = 30 * 24 * time.Hour
	loginIdle  = 7 * 24 * time.Hour
	accessLife = 10 * time.Minute
)

// errLoginOver returns the problem for a browser whose login is not valid. It
// does not say why, because any caller can get it.
func errLoginOver() *Problem {
	return problemf(api.CodeUnauthorized,
		"this browser's login has ended: get a new link with `middleman open`")
}

// newLink returns a login link and its secret. forwarded is the port at which the
// browser reaches the server, 0 for the server's own.
func (s *Server) newLink(ctx context.Context, forwarded int) (link, secret string, err error) {
	origin, err := s.origin()
	if err != nil {
		return "", "", err
	}
	secret, now := store.NewSecret(), time.Now()
	kept := secret
	if own, err := s.port(); err == nil && forwarded != 0 && forwarded != own {
		at, err := url.Parse(origin)
		if err != nil {
			return "", "", err
		}
		at.Host = net.JoinHostPort(at.Hostname(), strconv.Itoa(forwarded))
		origin = at.String()
		if s.options.Port.Name != "" {
			kept = secretAt(secret, forwarded)
		}
	}
	if err := s.Store.CreateLoginLink(ctx, kept, now, now.Add(linkLife)); err != nil {
		return "", "", err
	}
	return origin + "/#login=" + secret, secret, nil
}

// origin returns the origin of login links.
func (s *Server) origin() (string, error) {
	address, err := s.tcpAddress()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if s.options.Port.Name != "" {
		host = s.options.Port.Name
	}
	return s.scheme() + "://" + net.JoinHostPort(host, port), nil
}

// port returns the TCP port that the server listens on.
func (s *Server) port() (int, error) {
	address, err := s.tcpAddress()
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// visitor has the request's origin, Host, client address and User-Agent, for
// handlers that do not get the request itself.
type visitor struct {
	origin, host, address, userAgent string
}

// Resolve sets v from the request. It implements huma.Resolver.
func (v *visitor) Resolve(ctx huma.Context) []error {
	v.host, v.userAgent = ctx.Host(), ctx.Header("User-Agent")
	v.address = ctx.RemoteAddr()
	if host, _, err := net.SplitHostPort(v.address); err == nil {
		v.address = host
	}
	scheme := "http://"
	if ctx.TLS() != nil {
		scheme = "https://"
	}
	v.origin = scheme + v.host // withGuard has compared an Origin header with it
	return nil
}

// mayLogIn refuses origins that other servers may share: localhost is any
// program that listens on 127.0.0.1 or on [::1], and another program may have had
// a plain address before.
func (s *Server) mayLogIn(v visitor) error {
	switch host, _ := splitHost(v.host); {
	case strings.HasPrefix(v.origin, "https://"):
		return nil
	case s.options.Port.Name != "" && listen.IsLoopback(host):
		return problemf(api.CodeBadOrigin,
			"another program may have used %s before: log in at http://%s", v.host, s.named(v.host))
	case strings.EqualFold(host, "localhost"):
		return problemf(api.CodeBadOrigin, "several programs can listen at %s: log in at the server's address", v.host)
	}
	return nil
}

type newLoginIn struct {
	visitor
	Body api.NewLogin
}

// postLogin trades a link's secret for a login. It needs no other credential. It
// does not limit wrong attempts: the secret has 130 random bits.
func (s *Server) postLogin(ctx context.Context, in *newLoginIn) (*reply[api.NewLoginAnswer], error) {
	if err := s.mayLogIn(in.visitor); err != nil {
		return nil, err
	}
	if _, err := es256.ParsePublic(in.Body.Key); err != nil {
		return nil, problemf(api.CodeBadRequest, "key: %v", err)
	}
	serverKey, err := s.logins.publicKey(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	port, err := s.port()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := s.useLink(ctx, in.Body.Token, in.visitor, port); err != nil {
		return nil, err
	}
	s.linkFiles.remove(in.Body.Token)
	login := store.Login{
		ID: terminal.NewID("l"), Key: in.Body.Key, Name: printable(in.Body.Name), UserAgent: printable(in.userAgent),
		Address: in.address, Origin: in.origin, Port: port,
		CreatedAt: now, LastUsedAt: now, IdleAt: now.Add(s.options.LoginIdle), ExpiresAt: now.Add(loginLife),
	}
	if err := s.Store.CreateLogin(ctx, login); err != nil {
		return nil, err
	}
	s.holdPort(ctx)
	audit.Note(ctx, "login "+login.ID)
	return &reply[api.NewLoginAnswer]{api.NewLoginAnswer{
		ID: login.ID, Instance: s.options.Instance, ServerKey: serverKey, ExpiresAt: login.ExpiresAt,
	}}, nil
}

// printable makes text from a browser safe to show in a terminal, on one line of
// at most 160 characters.
func printable(text string) string {
	shown := []rune(plaintext.Line(text))
	return string(shown[:min(len(shown), 160)])
}

// useLink uses up the secret of a link. A browser may reach the server at a
// forwarded port. No holder keeps such a port for the server, so a login there
// needs a link that was made for that port.
func (s *Server) useLink(ctx context.Context, secret string, v visitor, own int) error {
	now, command := time.Now(), "`middleman open`"
	if at := v.port(); s.options.TLS == nil && s.options.Port.Name != "" && at != own {
		secret, command = secretAt(secret, at), fmt.Sprintf("`middleman open --port %d`", at)
	}
	err := s.Store.UseLoginLink(ctx, secret, now)
	if errors.Is(err, store.ErrNotFound) {
		return problemf(api.CodeUnauthorized,
			"this login link was used before, has expired, or is for another port: get a new one with %s", command)
	}
	return err
}

// secretAt returns the form in which the secret of a link for a forwarded port is
// stored.
func secretAt(secret string, port int) string { return fmt.Sprintf("%s at %d", secret, port) }

// port returns the port in the Host header, or 80 if it has none.
func (v visitor) port() int {
	_, port := splitHost(v.host)
	if port == "" {
		return 80
	}
	n, _ := strconv.Atoi(port) // withGuard has checked it
	return n
}

// login returns the login with that id, if it is valid at this port and origin;
// otherwise the error is errLoginOver.
func (s *Server) login(ctx context.Context, id string, v visitor) (store.Login, error) {
	login, err := s.Store.Login(ctx, id, time.Now())
	if errors.Is(err, store.ErrNotFound) {
		return store.Login{}, errLoginOver()
	}
	if err != nil {
		return store.Login{}, err
	}
	port, err := s.port()
	if err != nil {
		return store.Login{}, err
	}
	if login.Port != port || login.Origin != v.origin {
		return store.Login{}, errLoginOver()
	}
	return login, nil
}

// revoke ends a login and its open requests.
func (s *Server) revoke(ctx context.Context, id string) error {
	if err := s.Store.DeleteLogin(ctx, id); err != nil {
		return err
	}
	s.cut(id)
	s.holdPort(ctx)
	return nil
}

// cut ends the open requests of a login, which must be deleted or idle by then.
func (s *Server) cut(id string) { s.calls.end(loginSubject(id)) }

// loginSubject returns identity.subject for a login.
func loginSubject(id string) string { return "login:" + id }

// postLogout ends the caller's login. For a caller without a login it does
// nothing.
func (s *Server) postLogout(ctx context.Context, _ *empty) (*empty, error) {
	who, _ := caller(ctx)
	id, ok := strings.CutPrefix(who.subject, "login:")
	if !ok {
		return &empty{}, nil
	}
	if err := s.revoke(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return &empty{}, nil
}

func (s *Server) getLogins(ctx context.Context, _ *empty) (*reply[api.Logins], error) {
	list, err := s.Store.Logins(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	who, _ := caller(ctx)
	out := api.Logins{Logins: []api.Login{}}
	for _, l := range list {
		out.Logins = append(out.Logins, api.Login{
			ID: l.ID, Name: l.Name, UserAgent: l.UserAgent, Address: l.Address, Origin: l.Origin,
			CreatedAt: l.CreatedAt, LastUsedAt: l.LastUsedAt, ExpiresAt: l.Ends(), Current: who.subject == loginSubject(l.ID),
		})
	}
	return &reply[api.Logins]{out}, nil
}

// KeepQuery says what stays when logins are revoked. It is exported for huma.
type KeepQuery struct {
	KeepTokens bool `query:"keep_tokens" doc:"The tokens that it made stay"`
}

type loginPath struct {
	Login string `path:"login"`
	KeepQuery
}

// deleteLogin logs a browser out, and ends the tokens that its login led to: who
// revokes a login may not trust it. Those of a login that has ended by itself end too.
func (s *Server) deleteLogin(ctx context.Context, in *loginPath) (*empty, error) {
	err := s.revoke(ctx, in.Login)
	if in.KeepTokens || err != nil && !errors.Is(err, store.ErrNotFound) {
		return &empty{}, err
	}
	ids, tokensErr := s.Store.DeleteTokensOfLogin(context.WithoutCancel(ctx), in.Login) // revoke may have ended this request
	s.endTokens(ctx, ids)
	if len(ids) > 0 || tokensErr != nil {
		err = tokensErr
	}
	return &empty{}, err
}

// endTokens ends the open requests of deleted tokens, and notes their ids in the audit log.
func (s *Server) endTokens(ctx context.Context, ids []string) {
	if len(ids) > 0 {
		audit.Note(ctx, "tokens "+strings.Join(ids, " "))
	}
	s.cutTokens(ids)
}

// deleteLogins logs every browser out, deletes all unused login links, and ends the
// tokens that any login led to.
func (s *Server) deleteLogins(ctx context.Context, in *KeepQuery) (*empty, error) {
	ctx = context.WithoutCancel(ctx) // it may end its own request
	ids, err := s.Store.DeleteLogins(ctx)
	for _, id := range ids {
		s.cut(id)
	}
	s.holdPort(ctx)
	if sweeping := s.linkFiles.sweep(); err == nil {
		err = sweeping
	}
	if !in.KeepTokens {
		ids, tokensErr := s.Store.DeleteTokensOfLogins(ctx)
		s.endTokens(ctx, ids)
		err = errors.Join(err, tokensErr)
	}
	return &empty{}, err
}

// loginRoutes adds the routes of logins. Those that change something are POST or
// DELETE, so following or previewing a link changes nothing.
func (s *Server) loginRoutes() {
	add(s, route(http.MethodPost, "/login-links", "create-login-link", "Make a link that logs one browser in, once", accessFull), s.postLoginLink)
	add(s, route(http.MethodPost, "/login", "login", "Exchange the secret of a login link for a login", accessAnybody), s.postLogin)
	add(s, route(http.MethodPost, "/login/challenge", "login-challenge", "Make the server prove its identity, and get a nonce", accessAnybody), s.postChallenge)
	add(s, route(http.MethodPost, "/login/access", "login-access", "Get an access token for a signed nonce", accessAnybody), s.postAccess)
	add(s, route(http.MethodPost, "/logout", "logout", "End the login of this request, and close its connections", accessFull), s.postLogout)
	add(s, route(http.MethodGet, "/logins", "list-logins", "Browsers that are logged in", accessFull), s.getLogins)
	one := route(http.MethodDelete, "/logins/{login}", "delete-login", "Log a browser out, close its connections, and end the tokens that it made", accessFull)
	one.Description = "A token that such a token made ends too, as does one whose secret the login has rotated."
	add(s, one, s.deleteLogin)
	add(s, route(http.MethodDelete, "/logins", "delete-logins", "Log every browser out, forget unused login links, and end the tokens that browsers made", accessFull), s.deleteLogins)
	add(s, route(http.MethodPost, "/sessions/{session}/tickets", "create-ticket",
		"Get a ticket for one use of a session, for a request that cannot carry an Authorization header", accessSession), s.postTicket)
	add(s, route(http.MethodPost, "/runtimes/{runtime}/sessions/{session}/tickets", "runtime-create-ticket",
		"Get a ticket for one use of a session of a runtime, through this server", accessRead), s.postRuntimeTicket)
}

type loginLinkIn struct {
	Body api.NewLoginLink
}

func (s *Server) postLoginLink(ctx context.Context, in *loginLinkIn) (*reply[api.LoginLink], error) {
	if wayOf(ctx) != bySocket {
		return nil, problemf(api.CodeForbidden,
			"login links are made only over the server's socket, by `middleman open`: a link would outlive the token of this request")
	}
	link, secret, err := s.newLink(ctx, in.Body.Port)
	if err != nil {
		return nil, err
	}
	out := api.LoginLink{URL: link}
	if in.Body.File {
		out.File, err = s.linkFiles.write(link, secret)
	}
	return &reply[api.LoginLink]{out}, err
}
