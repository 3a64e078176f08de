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
	"middleman/internal/listen"
	"middleman/internal/plaintext"
	"middleman/internal/store"
	"middleman/terminal"
)

// A browser's login, step by step. There is no cookie: browsers send those to
// every port of a host, hence to servers of other users.
//
//  1. `middleman open` gets a link (POST /login-links). Its secret is in the
//     fragment, which browsers send to nobody.
//  2. The page trades the secret for a login (POST /login): it makes a key
//     that cannot be exported, and both sides keep the other's public key.
//  3. For each stretch of work it gets a nonce, together with the server's
//     signature (POST /login/challenge), and signs it (POST /login/access) for
//     an access token. That lives in memory on both sides, for ten minutes.
//  4. What cannot carry a header, a WebSocket or a download, carries a ticket
//     for that one thing, got with the access token.
//
// Both signatures bind the server's instance and the page's origin, and a
// login holds for the port alone that the server had then. So whoever takes
// that port later can neither pass for us towards a page that is still open,
// nor pass what the page signs on to us, at another port.
const (
	linkLife   = 10 * time.Minute
	loginLife  = 30 * 24 * time.Hour
	loginIdle  = 7 * 24 * time.Hour
	accessLife = 10 * time.Minute
)

// errLoginOver is what a browser is told whose login is no more. It says
// nothing of why, since it is for anybody.
func errLoginOver() *Problem {
	return problemf(api.CodeUnauthorized,
		"this browser's login has ended: get a new link with `middleman open`")
}

// LoginLink returns a link that logs one browser in, once, within ten
// minutes. Serve must have been called.
func (s *Server) LoginLink(ctx context.Context) (string, error) {
	link, _, err := s.newLink(ctx, 0)
	return link, err
}

// newLink returns a login link and its secret. forwarded is the port that the
// browser reaches us by, 0 for our own.
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

// origin is the one that links lead to.
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

// port is where the server listens.
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

// visitor is where a request comes from, for handlers that have no request.
type visitor struct {
	origin, host, address, userAgent string
}

// Resolve fills v.
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
	v.origin = scheme + v.host // withGuard compares the header Origin, where there is one
	return nil
}

// mayLogIn refuses origins that are not one server's alone: what answers at
// localhost is whoever listens on 127.0.0.1 or on [::1], and a plain address was
// perhaps another's before.
func (s *Server) mayLogIn(v visitor) error {
	switch host, _ := splitHost(v.host); {
	case strings.HasPrefix(v.origin, "https://"):
		return nil
	case s.options.Port.Name != "" && listen.IsLoopback(host):
		return problemf(api.CodeBadOrigin,
			"%s is not this server's alone: log in at http://%s", v.host, s.named(v.host))
	case strings.EqualFold(host, "localhost"):
		return problemf(api.CodeBadOrigin, "%s is not one program's alone: log in at the server's address", v.host)
	}
	return nil
}

type newLoginIn struct {
	visitor
	Body api.NewLogin
}

// postLogin trades a link's secret for a login. Nothing but the secret is
// needed, and a wrong one costs nobody anything: it has 130 random bits.
func (s *Server) postLogin(ctx context.Context, in *newLoginIn) (*reply[api.NewLoginAnswer], error) {
	if err := s.mayLogIn(in.visitor); err != nil {
		return nil, err
	}
	if _, err := parseLoginKey(in.Body.Key); err != nil {
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

// printable is text that a browser says of itself, as a terminal can show it,
// and not longer than a line.
func printable(text string) string {
	shown := []rune(plaintext.Line(text))
	return string(shown[:min(len(shown), 160)])
}

// useLink spends the secret of a link. Browsers may reach us by another port,
// which is forwarded. Nobody holds that for us, so it takes a link that was made
// for it.
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

// secretAt is a link's secret for a forwarded port.
func secretAt(secret string, port int) string { return fmt.Sprintf("%s at %d", secret, port) }

// port is the one that the browser has asked at.
func (v visitor) port() int {
	_, port := splitHost(v.host)
	if port == "" {
		return 80
	}
	n, _ := strconv.Atoi(port) // withGuard lets no other pass
	return n
}

// login is the login with that id, as far as it holds at this port and origin.
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

// revoke ends a login and all that it has open.
func (s *Server) revoke(ctx context.Context, id string) error {
	if err := s.Store.DeleteLogin(ctx, id); err != nil {
		return err
	}
	s.cut(id)
	s.holdPort(ctx)
	return nil
}

// cut ends what a login has open. The login must not hold any more.
func (s *Server) cut(id string) { s.calls.end(loginSubject(id)) }

// loginSubject is identity.subject of a login.
func loginSubject(id string) string { return "login:" + id }

// postLogout ends the login that asks. Whoever has none is logged out already.
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

type loginPath struct {
	Login string `path:"login"`
}

func (s *Server) deleteLogin(ctx context.Context, in *loginPath) (*empty, error) {
	return &empty{}, s.revoke(ctx, in.Login)
}

// deleteLogins logs every browser out, and forgets the links that were made
// and not used.
func (s *Server) deleteLogins(ctx context.Context, _ *empty) (*empty, error) {
	ids, err := s.Store.DeleteLogins(ctx)
	for _, id := range ids {
		s.cut(id)
	}
	s.holdPort(ctx)
	if sweeping := s.linkFiles.sweep(); err == nil {
		err = sweeping
	}
	return &empty{}, err
}

// loginRoutes are those of logins. What changes something is a POST or a
// DELETE: following a link, or looking at it ahead of that, does nothing.
func (s *Server) loginRoutes() {
	add(s, route(http.MethodPost, "/login-links", "create-login-link", "Make a link that logs one browser in, once", accessFull), s.postLoginLink)
	add(s, route(http.MethodPost, "/login", "login", "Trade the secret of a login link for a login", accessAnybody), s.postLogin)
	add(s, route(http.MethodPost, "/login/challenge", "login-challenge", "Have the server prove who it is, and get a nonce", accessAnybody), s.postChallenge)
	add(s, route(http.MethodPost, "/login/access", "login-access", "Get an access token for a signed nonce", accessAnybody), s.postAccess)
	add(s, route(http.MethodPost, "/logout", "logout", "End the login that asks, and what it has open", accessFull), s.postLogout)
	add(s, route(http.MethodGet, "/logins", "list-logins", "Browsers that are logged in", accessFull), s.getLogins)
	add(s, route(http.MethodDelete, "/logins/{login}", "delete-login", "Log a browser out, and end what it has open", accessFull), s.deleteLogin)
	add(s, route(http.MethodDelete, "/logins", "delete-logins", "Log every browser out, and forget unused login links", accessFull), s.deleteLogins)
	add(s, route(http.MethodPost, "/sessions/{session}/tickets", "create-ticket",
		"Get a ticket for one thing of a session, where no Authorization header can be sent", accessSession), s.postTicket)
}

type loginLinkIn struct {
	Body api.NewLoginLink
}

func (s *Server) postLoginLink(ctx context.Context, in *loginLinkIn) (*reply[api.LoginLink], error) {
	socket, _ := ctx.Value(socketKey{}).(bool)
	if !socket {
		return nil, problemf(api.CodeForbidden,
			"login links are made over the server's socket alone, by `middleman open`: a link would outlive the token that asks")
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
