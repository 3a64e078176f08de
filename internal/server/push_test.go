//go:build linux || darwin

package server_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
)

// subscription is what a browser sends of its subscription.
func subscription(t *testing.T, endpoint string) api.NewSubscription {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return api.NewSubscription{Endpoint: endpoint, Key: key.PublicKey().Bytes(), Auth: make([]byte, 16)}
}

// A subscription is a login's own, gets what the user is told anyway, and ends with it.
func TestPush(t *testing.T) {
	got := make(chan string, 8)
	push := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		got <- r.URL.Path
	}))
	defer push.Close()
	p := newPlace(t)
	private := func(o *server.Options) { o.PushPrivate = true }
	r := p.serve(t, private)
	b := r.browserLogin()
	access := r.access(b)
	ask := func(method, authorization string, in any) answer {
		t.Helper()
		return r.browse(method, "/api/v1/push-subscription", in, "Authorization", authorization)
	}
	mine := subscription(t, push.URL+"/mine")
	for _, x := range []struct {
		name   string
		got    answer
		status int
	}{
		{"nobody", r.browse("PUT", "/api/v1/push-subscription", mine), 401},
		{"a token", ask("PUT", "Bearer "+r.token(store.ScopeFull, "", time.Hour), mine), 403},
		{"a token that reads", ask("GET", "Bearer "+r.token(store.ScopeRead, "", time.Hour), nil), 403},
		{"the command line", r.call("PUT", "/push-subscription", mine), 403},
		{"no address", ask("PUT", access, subscription(t, "https://169.254.169.254/latest")), 422},
		{"plain http", ask("PUT", access, subscription(t, "http://push.example/")), 422},
		{"a browser", ask("PUT", access, mine), 204},
	} {
		if x.got.status != x.status {
			t.Errorf("%s: %d %s", x.name, x.got.status, x.got.body)
		}
	}
	read := func() api.Subscription {
		t.Helper()
		return decode[api.Subscription](t, ask("GET", access, nil))
	}
	before := read()
	if before.Endpoint != mine.Endpoint || len(before.ServerKey) != 65 || before.Content {
		t.Errorf("subscription %+v", before)
	}
	s := r.standsIn(r.workspace("w", nil))
	r.becomes(s.ID, "unknown")
	r.says(s.ID, "ask")
	if path := <-got; path != "/mine" {
		t.Errorf("pushed to %s", path)
	}

	p.address = r.at
	r.stop()
	r = p.serve(t, private)
	access = r.access(b)
	if after := read(); !bytes.Equal(after.ServerKey, before.ServerKey) || after.Endpoint != mine.Endpoint {
		t.Errorf("after a restart %+v", after)
	}
	if a := ask("DELETE", access, nil); a.status != 204 || read().Endpoint != "" {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	if a := ask("PUT", access, mine); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := r.browse("POST", "/api/v1/logout", nil, "Authorization", access); a.status != 204 {
		t.Fatalf("logout: %d %s", a.status, a.body)
	}
	if list, err := r.store.Subscriptions(t.Context(), time.Now()); err != nil || len(list) > 0 {
		t.Errorf("after the logout: %v, %v", list, err)
	}
}
