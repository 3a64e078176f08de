//go:build linux || darwin

package server_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// token stores one and returns its secret.
func (r *running) token(scope store.Scope, session string, life time.Duration) string {
	r.t.Helper()
	secret, now := store.NewSecret(), time.Now()
	err := r.store.CreateToken(r.t.Context(), secret, store.Token{
		ID: terminal.NewID("t"), Label: "test", Scope: scope, SessionID: session, CreatedAt: now, ExpiresAt: now.Add(life),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return secret
}

// login uses a new login link and returns the Cookie header.
func (r *running) login() string {
	r.t.Helper()
	a := r.browse("GET", r.link(), nil)
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		r.t.Fatalf("login: status %d: %s", a.status, a.body)
	}
	cookie, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		r.t.Fatal(err)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge < 29*24*3600 {
		r.t.Errorf("cookie: %s", a.header.Get("Set-Cookie"))
	}
	return cookie.Name + "=" + cookie.Value
}

// link is the path and query of a new login link.
func (r *running) link() string {
	r.t.Helper()
	full := get[api.LoginLink](r, "POST", "/login-links", struct{}{}).URL
	u, err := url.Parse(full)
	if err != nil || u.Host != r.tcp {
		r.t.Fatalf("login link %q: %v", full, err)
	}
	return u.RequestURI()
}

func TestRefusals(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("guarded", &api.NewSession{Command: []string{"cat"}})
	id := w.Sessions[0].ID
	cookie := r.login()
	origin := "http://" + r.tcp
	full := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	read := "Bearer " + r.token(store.ScopeRead, "", time.Hour)
	watch := "Bearer " + r.token(store.ScopeSession, id, time.Hour)
	expired := "Bearer " + r.token(store.ScopeFull, "", -time.Second)
	other := "Bearer " + r.token(store.ScopeSession, "s0000000000000000", time.Hour)
	const list, input = "/api/v1/workspaces", "POST /input"
	for _, x := range []struct {
		name, method, path string
		header             []string
		status             int
		code               string
	}{
		{"anybody asks for health", "GET", "/api/v1/health", nil, 200, ""},
		{"anybody loads the client", "GET", "/", nil, 200, ""},
		{"no credentials", "GET", list, nil, 401, api.CodeUnauthorized},
		{"no credentials, the document", "GET", "/api/v1/openapi.json", nil, 401, api.CodeUnauthorized},
		{"no credentials, typing", input, "", nil, 401, api.CodeUnauthorized},
		{"cookie", "GET", list, []string{"Cookie", cookie}, 200, ""},
		{"cookie of another server", "GET", list, []string{"Cookie", "middleman_1=" + strings.SplitN(cookie, "=", 2)[1]}, 401, api.CodeUnauthorized},
		{"wrong cookie", "GET", list, []string{"Cookie", cookie + "x"}, 401, api.CodeUnauthorized},
		{"token", "GET", list, []string{"Authorization", full}, 200, ""},
		{"wrong token", "GET", list, []string{"Authorization", "Bearer " + store.NewSecret()}, 401, api.CodeUnauthorized},
		{"empty token", "GET", list, []string{"Authorization", "Bearer "}, 401, api.CodeUnauthorized},
		{"wrong scheme", "GET", list, []string{"Authorization", "Basic Zm9vOmJhcg=="}, 401, api.CodeUnauthorized},
		{"expired token", "GET", list, []string{"Authorization", expired}, 401, api.CodeUnauthorized},
		{"wrong token beside a right cookie", "GET", list, []string{"Authorization", "Bearer x", "Cookie", cookie}, 401, api.CodeUnauthorized},
		{"rebound host", "GET", list, []string{"Host", "evil.example:80", "Cookie", cookie}, 421, api.CodeBadHost},
		{"rebound host, static", "GET", "/", []string{"Host", "evil.example"}, 421, api.CodeBadHost},
		{"host that begins like ours", "GET", list, []string{"Host", "127.0.0.1.evil.example", "Cookie", cookie}, 421, api.CodeBadHost},
		{"address of another interface", "GET", list, []string{"Host", "192.0.2.1", "Cookie", cookie}, 421, api.CodeBadHost},
		{"localhost", "GET", "/", []string{"Host", "localhost:1"}, 200, ""},
		{"IPv6", "GET", "/", []string{"Host", "[::1]:1"}, 200, ""},
		{"own origin, typing", input, "", []string{"Cookie", cookie, "Origin", origin}, 204, ""},
		{"foreign origin, typing", input, "", []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403, api.CodeBadOrigin},
		{"origin of another port, typing", input, "", []string{"Cookie", cookie, "Origin", "http://127.0.0.1:1"}, 403, api.CodeBadOrigin},
		{"null origin, typing", input, "", []string{"Cookie", cookie, "Origin", "null"}, 403, api.CodeBadOrigin},
		{"foreign origin, with a token", input, "", []string{"Authorization", full, "Origin", "http://evil.example"}, 403, api.CodeBadOrigin},
		{"cross-site, typing", input, "", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403, api.CodeBadOrigin},
		{"same-site, typing", input, "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403, api.CodeBadOrigin},
		{"cross-site, reading", "GET", list, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403, api.CodeBadOrigin},
		{"same origin, reading", "GET", list, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200, ""},
		{"link from another site to the client", "GET", "/", []string{"Sec-Fetch-Site", "cross-site"}, 200, ""},
		{"cross-site form to the client", "POST", "/", []string{"Sec-Fetch-Site", "cross-site"}, 403, api.CodeBadOrigin},
		{"read token reads", "GET", list, []string{"Authorization", read}, 200, ""},
		{"read token captures", "GET", "/api/v1/sessions/" + id + "/capture", []string{"Authorization", read}, 200, ""},
		{"read token types", input, "", []string{"Authorization", read}, 403, api.CodeForbidden},
		{"read token deletes", "DELETE", list + "/" + w.ID, []string{"Authorization", read}, 403, api.CodeForbidden},
		{"read token makes a link", "POST", "/api/v1/login-links", []string{"Authorization", read}, 403, api.CodeForbidden},
		{"watch-only token captures", "GET", "/api/v1/sessions/" + id + "/capture", []string{"Authorization", watch}, 200, ""},
		{"watch-only token plays", "GET", "/api/v1/sessions/" + id + "/recording", []string{"Authorization", watch}, 200, ""},
		{"watch-only token plays another session", "GET", "/api/v1/sessions/" + id + "/recording", []string{"Authorization", other}, 403, api.CodeForbidden},
		{"watch-only token types", input, "", []string{"Authorization", watch}, 403, api.CodeForbidden},
		{"watch-only token lists", "GET", list, []string{"Authorization", watch}, 403, api.CodeForbidden},
		{"watch-only token stops", "DELETE", "/api/v1/sessions/" + id, []string{"Authorization", watch}, 403, api.CodeForbidden},
		{"watch-only token of another session", "GET", "/api/v1/sessions/" + id + "/capture", []string{"Authorization", other}, 403, api.CodeForbidden},
		{"unknown route", "GET", "/api/v2/workspaces", []string{"Cookie", cookie}, 404, api.CodeNotFound},
	} {
		t.Run(x.name, func(t *testing.T) {
			method, path, body := x.method, x.path, any(nil)
			if method == input {
				method, path, body = "POST", "/api/v1/sessions/"+id+"/input", []byte("typed")
			}
			a := r.browse(method, path, body, x.header...)
			if a.status != x.status {
				t.Fatalf("status %d: %s", a.status, a.body)
			}
			if x.code != "" && a.problem(t).Code != x.code {
				t.Errorf("code of %s", a.body)
			}
			for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options"} {
				if a.header.Get(name) == "" {
					t.Errorf("no %s", name)
				}
			}
		})
	}
}

func TestLoginLinkWorksOnce(t *testing.T) {
	r := newPlace(t).serve(t)
	link := r.link()
	for _, x := range []struct {
		name, path string
		header     []string
		status     int
	}{
		{"rebound host does not use it up", link, []string{"Host", "evil.example"}, 421},
		{"wrong", "/login?token=wrong", nil, 401},
		{"none", "/login", nil, 401},
		{"right", link, nil, 303},
		{"used", link, nil, 401},
		{"used, in a browser", link, []string{"Accept", "text/html"}, 401},
	} {
		a := r.browse("GET", x.path, nil, x.header...)
		if a.status != x.status {
			t.Errorf("%s: status %d: %s", x.name, a.status, a.body)
		}
		if x.status == 401 && a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got a cookie", x.name)
		}
	}
	secret, past := store.NewSecret(), time.Now().Add(-time.Minute)
	if err := r.store.CreateLoginLink(t.Context(), secret, past, past); err != nil {
		t.Fatal(err)
	}
	if a := r.browse("GET", "/login?token="+secret, nil); a.status != 401 {
		t.Errorf("expired: status %d", a.status)
	}
}

// What mail programs, chats and browsers do with a link before it is followed
// leaves it as it is.
func TestOnlyAVisitSpendsTheLoginLink(t *testing.T) {
	r := newPlace(t).serve(t)
	link := r.link()
	for _, x := range []struct {
		name, method string
		header       []string
		status       int
	}{
		{"HEAD", "HEAD", nil, 200},
		{"prefetch", "GET", []string{"Sec-Purpose", "prefetch", "Sec-Fetch-Site", "cross-site"}, 403},
		{"prerender", "GET", []string{"Sec-Purpose", "prefetch;prerender", "Sec-Fetch-Mode", "navigate"}, 403},
		{"prefetch of an older browser", "GET", []string{"Purpose", "prefetch"}, 403},
		{"preview", "GET", []string{"X-Purpose", "preview"}, 403},
		{"image", "GET", []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"frame", "GET", []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"fetch", "GET", []string{"Sec-Fetch-Mode", "cors"}, 403},
		{"followed from another site", "GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 303},
	} {
		a := r.browse(x.method, link, nil, x.header...)
		if a.status != x.status {
			t.Errorf("%s: status %d: %s", x.name, a.status, a.body)
		}
		if got := a.header.Get("Set-Cookie") != ""; got != (x.status == 303) {
			t.Errorf("%s: a cookie is %t", x.name, got)
		}
	}
}

func TestLogoutEndsTheLogin(t *testing.T) {
	r := newPlace(t).serve(t)
	cookie := r.login()
	if a := r.browse("POST", "/api/v1/logout", nil, "Cookie", cookie); a.status != 204 {
		t.Fatalf("logout: %d %s", a.status, a.body)
	}
	if a := r.browse("GET", "/api/v1/workspaces", nil, "Cookie", cookie); a.status != 401 {
		t.Errorf("after logout: %d", a.status)
	}
}

// Wrong secrets, however many, keep no right one out: who guesses at 130 bits
// needs no lock, and one would be anybody's means to lock others out.
func TestWrongSecretsLockNobodyOut(t *testing.T) {
	r := newPlace(t).serve(t)
	cookie, right, link := r.login(), "Bearer "+r.token(store.ScopeFull, "", time.Hour), r.link()
	for range 100 {
		if got := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", "Bearer "+store.NewSecret()).status; got != 401 {
			t.Fatalf("a wrong token: %d", got)
		}
		if got := r.browse("GET", "/login?token=wrong", nil).status; got != 401 {
			t.Fatalf("a wrong link: %d", got)
		}
	}
	if got := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", right).status; got != 200 {
		t.Errorf("the right token: %d", got)
	}
	if got := r.browse("GET", link, nil).status; got != http.StatusSeeOther {
		t.Errorf("the right link: %d", got)
	}
	if got := r.browse("GET", "/api/v1/workspaces", nil, "Cookie", cookie).status; got != 200 {
		t.Errorf("a browser that has logged in: %d", got)
	}
}

func TestTerminalOverWebSocket(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("typed", &api.NewSession{Command: []string{"cat"}})
	id := w.Sessions[0].ID
	cookie := r.login()
	watch := "Bearer " + r.token(store.ScopeSession, id, time.Hour)
	dial := func(query string, header ...string) (*websocket.Conn, int) {
		t.Helper()
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, resp, err := websocket.Dial(ctx, "ws://"+r.tcp+"/api/v1/sessions/"+id+"/terminal?"+query,
			&websocket.DialOptions{HTTPHeader: h, HTTPClient: browser})
		if err != nil {
			return nil, resp.StatusCode
		}
		t.Cleanup(func() { conn.CloseNow() })
		return conn, resp.StatusCode
	}
	for _, x := range []struct {
		name, query string
		header      []string
		status      int
	}{
		{"nobody", "", nil, 401},
		{"foreign origin", "", []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403},
		{"same-site", "", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403},
		{"watch-only token attaches", "mode=attach", []string{"Authorization", watch}, 403},
		{"watch-only token attaches by default", "", []string{"Authorization", watch}, 403},
		{"bad query", "cols=-1", []string{"Cookie", cookie}, 422},
		{"watch-only token watches", "mode=watch", []string{"Authorization", watch}, 101},
	} {
		conn, status := dial(x.query, x.header...)
		if status != x.status {
			t.Errorf("%s: status %d", x.name, status)
		}
		if conn != nil {
			conn.CloseNow()
		}
	}
	conn, status := dial("cols=80&rows=24", "Cookie", cookie, "Origin", "http://"+r.tcp)
	if conn == nil {
		t.Fatalf("attach: status %d", status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("typed in a browser\r")); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for !strings.Contains(seen.String(), "typed in a browser\r\ntyped in a browser") {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v, after %q", err, seen.String())
		}
		if kind == websocket.MessageBinary {
			seen.Write(data)
		}
	}
	var stopped sync.WaitGroup
	defer stopped.Wait()
	stopped.Go(r.stop) // the server takes its leave of the viewer, and the session goes on
	last := ""
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			break
		}
		if kind == websocket.MessageText {
			last = string(data)
		}
	}
	if !strings.Contains(last, `"detached"`) {
		t.Errorf("the last message was %s", last)
	}
	if _, err := r.place.backend.Session(id).Status(t.Context()); err != nil {
		t.Errorf("session after the server: %v", err)
	}
}
