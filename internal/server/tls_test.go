//go:build linux || darwin

package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/certs"
	"middleman/internal/listen"
	"middleman/internal/server"
	"middleman/internal/store"
)

// encrypted serves with a local authority, and returns a client that trusts it.
func (p *place) encrypted(t *testing.T) (*running, *http.Client) {
	t.Helper()
	authority, err := certs.Local(filepath.Join(t.TempDir(), "tls"), nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if raw, err := os.ReadFile(authority.File); err != nil || !roots.AppendCertsFromPEM(raw) {
		t.Fatalf("authority: %v", err)
	}
	r := p.serve(t, func(o *server.Options) { o.TLS, o.MaxStrangers, o.MaxConns = authority.Config(), 4, 8 })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	return r, client
}

func TestEncrypted(t *testing.T) {
	r, client := newPlace(t).encrypted(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	bearer := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	origin := "https://" + r.tcp
	for _, x := range []struct {
		name, method string
		header       []string
		status       int
	}{
		{"the client", "GET", nil, 200},
		{"own origin", "POST", []string{"Origin", origin, "Authorization", bearer}, 204},
		{"the same without encryption", "POST", []string{"Origin", "http://" + r.tcp, "Authorization", bearer}, 403},
	} {
		path := "/"
		if x.method == "POST" {
			path = "/api/v1/sessions/" + id + "/input"
		}
		if a := r.do(client, r.request(x.method, origin+path, nil, x.header...)); a.status != x.status {
			t.Errorf("%s: %d %s", x.name, a.status, a.body)
		} else if a.header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: HSTS counts for all ports of the host", x.name)
		}
	}
	if link := get[api.LoginLink](r, "POST", "/login-links", struct{}{}).URL; !strings.HasPrefix(link, origin+"/") {
		t.Errorf("login link %s", link)
	}
	if _, err := browser.Get(origin); err == nil {
		t.Error("a client that does not trust the authority was content")
	}
	plain := r.browse("GET", "/", nil)
	if plain.status != 400 || !strings.Contains(string(plain.body), "HTTP request to an HTTPS server") {
		t.Errorf("plain HTTP: %d %s", plain.status, plain.body)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "wss://"+r.tcp+"/api/v1/sessions/"+id+"/terminal", &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Authorization": {bearer}, "Origin": {origin}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("over wss\r")); err != nil {
		t.Fatal(err)
	}
	for seen := ""; !strings.Contains(seen, "over wss\r\nover wss"); {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v, after %q", err, seen)
		}
		if kind == websocket.MessageBinary {
			seen += string(data)
		}
	}
	// Whoever says nothing holds no more than a few connections here too.
	for range 40 {
		r.knock("")
	}
	if a := r.do(client, r.request("GET", origin+"/api/v1/workspaces", nil, "Authorization", bearer)); a.status != 200 {
		t.Errorf("beside silent connections: %d %s", a.status, a.body)
	}
}

// Beyond loopback there is no server without encryption.
func TestBeyondLoopbackNeedsTLS(t *testing.T) {
	p := newPlace(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: address, Version: "test"})
		if err == nil || !strings.Contains(err.Error(), "--tls local") {
			t.Errorf("%s without TLS: %v", address, err)
		}
		if l != nil {
			l.Close()
		}
	}
	l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: "127.0.0.1:0", Version: "test", TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := os.ReadFile(p.dirs.ServeFile())
	if err != nil || !strings.Contains(string(raw), `"tls":true`) {
		t.Errorf("serve.json: %s, %v", raw, err)
	}
}
