//go:build linux || darwin

package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/internal/testenv"
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

// browserLogin logs a browser in with a new link.
func (r *running) browserLogin() *testenv.Browser {
	r.t.Helper()
	b, err := testenv.LogIn(r.t.Context(), r.link())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// access is the Authorization header of a browser that is logged in.
func (r *running) access(b *testenv.Browser) string {
	r.t.Helper()
	token, err := b.Access(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return "Bearer " + token
}

// login logs a browser in and returns its Authorization header.
func (r *running) login() string {
	r.t.Helper()
	return r.access(r.browserLogin())
}

// link is a new login link.
func (r *running) link() string {
	r.t.Helper()
	link := get[api.LoginLink](r, "POST", "/login-links", struct{}{}).URL
	if !strings.HasPrefix(link, "http://"+r.tcp+"/#login=") {
		r.t.Fatalf("login link %q", link)
	}
	return link
}

func TestRefusals(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("guarded", &api.NewSession{Command: []string{"cat"}})
	id := w.Sessions[0].ID
	login := r.login()
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
		{"login", "GET", list, []string{"Authorization", login}, 200, ""},
		{"a cookie is nothing", "GET", list, []string{"Cookie", "middleman=" + strings.TrimPrefix(login, "Bearer ")}, 401, api.CodeUnauthorized},
		{"a cookie takes nothing away", "GET", list, []string{"Authorization", login, "Cookie", "middleman=planted"}, 200, ""},
		{"token", "GET", list, []string{"Authorization", full}, 200, ""},
		{"wrong token", "GET", list, []string{"Authorization", "Bearer " + store.NewSecret()}, 401, api.CodeUnauthorized},
		{"empty token", "GET", list, []string{"Authorization", "Bearer "}, 401, api.CodeUnauthorized},
		{"wrong scheme", "GET", list, []string{"Authorization", "Basic Zm9vOmJhcg=="}, 401, api.CodeUnauthorized},
		{"expired token", "GET", list, []string{"Authorization", expired}, 401, api.CodeUnauthorized},
		{"rebound host", "GET", list, []string{"Host", "evil.example:80", "Authorization", login}, 421, api.CodeBadHost},
		{"rebound host, static", "GET", "/", []string{"Host", "evil.example"}, 421, api.CodeBadHost},
		{"host that begins like ours", "GET", list, []string{"Host", "127.0.0.1.evil.example", "Authorization", login}, 421, api.CodeBadHost},
		{"address of another interface", "GET", list, []string{"Host", "192.0.2.1", "Authorization", login}, 421, api.CodeBadHost},
		{"localhost", "GET", "/api/v1/health", []string{"Host", "localhost:1"}, 200, ""},
		{"IPv6", "GET", "/api/v1/health", []string{"Host", "[::1]:1"}, 200, ""},
		{"another name below localhost", "GET", "/", []string{"Host", "evil.localhost"}, 421, api.CodeBadHost},
		{"a port that is none", "GET", "/", []string{"Host", "localhost:8091,evil"}, 421, api.CodeBadHost},
		{"a port beyond ports", "GET", "/", []string{"Host", "localhost:99999999"}, 421, api.CodeBadHost},
		{"a name of before", "GET", list, []string{"Host", "middleman-aaaaaaaaaaaaaaaa.localhost", "Authorization", full}, 421, api.CodeBadHost},
		{"our name below another", "GET", "/", []string{"Host", strings.TrimSuffix(strings.Split(r.tcp, ":")[0], ".localhost") + ".evil.example"}, 421, api.CodeBadHost},
		{"own origin, typing", input, "", []string{"Authorization", login, "Origin", origin}, 204, ""},
		{"foreign origin, typing", input, "", []string{"Authorization", login, "Origin", "http://evil.example"}, 403, api.CodeBadOrigin},
		{"origin of another port, typing", input, "", []string{"Authorization", login, "Origin", "http://127.0.0.1:1"}, 403, api.CodeBadOrigin},
		{"null origin, typing", input, "", []string{"Authorization", login, "Origin", "null"}, 403, api.CodeBadOrigin},
		{"foreign origin, with a token", input, "", []string{"Authorization", full, "Origin", "http://evil.example"}, 403, api.CodeBadOrigin},
		{"cross-site, typing", input, "", []string{"Authorization", login, "Sec-Fetch-Site", "cross-site"}, 403, api.CodeBadOrigin},
		{"same-site, typing", input, "", []string{"Authorization", login, "Sec-Fetch-Site", "same-site"}, 403, api.CodeBadOrigin},
		{"cross-site, reading", "GET", list, []string{"Authorization", login, "Sec-Fetch-Site", "cross-site"}, 403, api.CodeBadOrigin},
		{"same origin, reading", "GET", list, []string{"Authorization", login, "Sec-Fetch-Site", "same-origin"}, 200, ""},
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
		{"unknown route", "GET", "/api/v2/workspaces", []string{"Authorization", login}, 404, api.CodeNotFound},
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

// Wrong secrets, however many, keep no right one out: who guesses at 130 bits
// needs no lock, and one would be anybody's means to lock others out.
func TestWrongSecretsLockNobodyOut(t *testing.T) {
	r := newPlace(t).serve(t)
	login, right := r.login(), "Bearer "+r.token(store.ScopeFull, "", time.Hour)
	for range 100 {
		if got := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", "Bearer "+store.NewSecret()).status; got != 401 {
			t.Fatalf("a wrong token: %d", got)
		}
	}
	if got := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", right).status; got != 200 {
		t.Errorf("the right token: %d", got)
	}
	if got := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", login).status; got != 200 {
		t.Errorf("a browser that has logged in: %d", got)
	}
}

func TestTerminalOverWebSocket(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("typed", &api.NewSession{Command: []string{"cat"}})
	id := w.Sessions[0].ID
	login := r.login()
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
		{"foreign origin", "", []string{"Authorization", login, "Origin", "http://evil.example"}, 403},
		{"same-site", "", []string{"Authorization", login, "Sec-Fetch-Site", "same-site"}, 403},
		{"watch-only token attaches", "mode=attach", []string{"Authorization", watch}, 403},
		{"watch-only token attaches by default", "", []string{"Authorization", watch}, 403},
		{"bad query", "cols=-1", []string{"Authorization", login}, 422},
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
	conn, status := dial("cols=80&rows=24", "Authorization", login, "Origin", "http://"+r.tcp)
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
