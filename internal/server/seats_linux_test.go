package server_test

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/store"
)

// watch opens the terminal at a path below the API, and reports whether it shows
// something: whether its viewer has a place at the owner.
func (r *running) watch(path string, header http.Header, protocols ...string) bool {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws://"+r.tcp+"/api/v1"+path+"/terminal?mode=watch",
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: browser, Subprotocols: protocols})
	if err != nil {
		if resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
			r.t.Fatal(err)
		}
		return false
	}
	r.t.Cleanup(func() { conn.CloseNow() })
	_, first, err := conn.Read(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(string(first), `"hello"`) && !strings.Contains(string(first), "too-many-viewers") {
		r.t.Fatalf("%s", first)
	}
	return strings.Contains(string(first), `"hello"`)
}

func bearer(secret string) http.Header { return http.Header{"Authorization": {"Bearer " + secret}} }

// fill has one token after the other watch a session until it gets no place, and checks
// how many places each got.
func (r *running) fill(path string, scope store.Scope, session string, want ...int) {
	r.t.Helper()
	for _, want := range want {
		header := bearer(r.token(scope, session, time.Hour))
		for i := range want + 1 {
			if ok := r.watch(path, header); ok != (i < want) {
				r.t.Fatalf("viewer %d of %d: %v", i+1, want, ok)
			}
		}
	}
}

// left is how many places those that may only watch leave: of 32 they have 24, and the
// server itself follows each session with one.
const left = 7

// watchAll has a token that has full rights watch a session so often.
func (r *running) watchAll(path, full string, often int) {
	r.t.Helper()
	for i := range often {
		if !r.watch(path, bearer(full)) {
			r.t.Fatalf("with a full token: viewer %d of %d has no place", i+1, often)
		}
	}
}

// Tokens that may only watch leave places for those who have full rights, also where these
// watch by a ticket.
func TestWatchersLeaveRoom(t *testing.T) {
	r := newPlace(t).serve(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	r.fill("/sessions/"+id, store.ScopeSession, id, 16, 8) // of a token, and of all
	full := r.token(store.ScopeFull, "", time.Hour)
	r.watchAll("/sessions/"+id, full, left-3)
	for i := range 3 {
		if !r.watch("/sessions/"+id, nil, "middleman.v1", "ticket."+r.ticket(id, "watch", "Bearer "+full)) {
			t.Fatalf("with a ticket of a full token: %d", i+1)
		}
	}
}

// A wait is a watcher of the owner too, so waits have the same places.
func TestWaitsLeaveRoom(t *testing.T) {
	r := newPlace(t).serve(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	ctx, cancel := context.WithCancel(t.Context())
	header, answers := bearer(r.token(store.ScopeRead, "", time.Hour)), make(chan int, 17)
	for range 17 {
		req := r.request("GET", "http://"+r.tcp+"/api/v1/sessions/"+id+"/wait?timeout=1h", nil).WithContext(ctx)
		req.Header = header
		go func() { // joined below
			resp, err := browser.Do(req)
			if err != nil {
				answers <- 0
				return
			}
			defer resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}
	if status := <-answers; status != http.StatusServiceUnavailable {
		t.Errorf("one wait of 17: %d", status)
	}
	r.fill("/sessions/"+id, store.ScopeSession, id, 8)
	r.watchAll("/sessions/"+id, r.token(store.ScopeFull, "", time.Hour), left)
	cancel()
	for range 16 {
		if status := <-answers; status != 0 {
			t.Errorf("a wait ended: %d", status)
		}
	}
}

// Who comes through hubs and may only watch there has, with all others of that kind, the
// same places at the runtime, however many hubs there are.
func TestWatchersThroughHubsLeaveRoom(t *testing.T) {
	r := newPlace(t).serve(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	at := &url.URL{Scheme: "http", Host: r.at}
	hub := func() *running {
		h, secret := newPlace(t).serve(t), r.token(store.ScopeFull, "", time.Hour)
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(at)
			p.Out.Host = r.tcp
			p.Out.Header.Set("Authorization", "Bearer "+secret)
		}}
		h.addFake().says(proxy.ServeHTTP)
		return h
	}
	first, second := hub(), hub()
	first.fill("/runtimes/box/sessions/"+id, store.ScopeRead, "", 16)
	second.fill("/runtimes/box/sessions/"+id, store.ScopeRead, "", 8)
	wait := second.request("GET", "http://"+second.tcp+"/api/v1/runtimes/box/sessions/"+id+"/wait?timeout=1h", nil)
	wait.Header = bearer(second.token(store.ScopeRead, "", time.Hour))
	if a := second.do(browser, wait); a.status != http.StatusServiceUnavailable {
		t.Errorf("a wait through a hub: %d %s", a.status, a.body)
	}
	second.watchAll("/runtimes/box/sessions/"+id, second.token(store.ScopeFull, "", time.Hour), left)
}
