package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/internal/testenv"
)

// kept is a connection that is kept open between requests.
type kept struct {
	net.Conn
	r       *running
	in      *bufio.Reader
	request string
}

// keepOpen opens one over which a token asks for path, once.
func (r *running) keepOpen(path, token string) *kept {
	r.t.Helper()
	k := &kept{r: r, request: "GET /api/v1" + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\n\r\n"}
	k.Conn = r.knock(k.request)
	k.in = bufio.NewReader(k.Conn)
	k.answered()
	return k
}

// again sends the request again.
func (k *kept) again() {
	k.r.t.Helper()
	if _, err := io.WriteString(k, k.request); err != nil {
		k.r.t.Fatal(err)
	}
	k.answered()
}

// answered reads the answer, and waits until the server counts the connection as idle:
// a moment after the answer.
func (k *kept) answered() {
	t := k.r.t
	t.Helper()
	resp, err := http.ReadResponse(k.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	testenv.Eventually(t, patience, "the connection is idle", func() bool { return k.r.Idle(k.LocalAddr().String()) })
}

// A caller has no more than its share of the connections: over the total, one of the
// caller goes that has most, and its longest unused. Strangers take none of them.
func TestConnectionsAreShared(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.MaxStrangers, o.MaxConns = 2, 4 })
	greedy, other := r.token(store.ScopeRead, "", time.Hour), r.token(store.ScopeFull, "", time.Hour)
	var many []*kept
	for range 4 {
		many = append(many, r.keepOpen("/workspaces", greedy))
	}
	var strangers []net.Conn
	for range 20 {
		strangers = append(strangers, r.knock(""))
	}
	for _, conn := range strangers[:18] {
		until(t, conn)
	}
	for _, k := range many {
		k.again()
	}
	if v := get[api.Server](r, "GET", "/server", nil); len(v.Full) > 0 {
		t.Errorf("full with the connections that there may be: %q", v.Full)
	}
	many[0].again() // so the second is the longest unused
	first := r.keepOpen("/workspaces", other)
	until(t, many[1].Conn)
	second := r.keepOpen("/workspaces", other)
	until(t, many[2].Conn)
	r.keepOpen("/workspaces", other) // now each has two: its own longest unused goes
	until(t, first.Conn)
	for _, k := range []*kept{many[0], many[3], second} {
		k.again()
	}
	if v := get[api.Server](r, "GET", "/server", nil); len(v.Full) != 1 || !strings.Contains(v.Full[0], "the limit of 4 connections over TCP was reached: 3 were closed") {
		t.Errorf("full: %q", v.Full)
	}
}

// With a token's end its connections end: those between two requests at once, those of
// streams after these.
func TestConnectionsEndWithTheirToken(t *testing.T) {
	r := newPlace(t).serve(t)
	made := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "w", Scope: "read"})
	idle, other := r.keepOpen("/workspaces", made.Secret), r.keepOpen("/workspaces", r.token(store.ScopeFull, "", time.Hour))
	stream := r.knock("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + made.Secret + "\r\n\r\n")
	in := bufio.NewReader(stream)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	if a := r.call("DELETE", "/tokens/w", nil); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	until(t, idle.Conn)
	if err := stream.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil {
		t.Errorf("the stream's connection stays open: %v; %q", err, rest)
	}
	other.again()
}

// A sandboxed session has its share too, and a connection that does not prove whose it
// is ends soon.
func TestHooksAreShared(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.MaxConns, o.StrangerLife = 8, time.Second })
	w := r.workspace("w", nil)
	try := func(session, secret string) (net.Conn, error) {
		t.Helper()
		conn, err := net.Dial("unix", r.place.dirs.OwnSocket())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		path, header := "/health", ""
		if secret != "" {
			path, header = "/sessions/"+session+"/approvals", "Authorization: Bearer "+secret+"\r\n"
		}
		if _, err := fmt.Fprintf(conn, "GET /api/v1%s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, header); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, patience, "the server counts it as idle", r.HooksIdle) // a moment after the answer
		return conn, nil
	}
	open := func(session, secret string) (conn net.Conn) {
		t.Helper()
		testenv.Eventually(t, patience, "an answer", func() bool { // on a busy machine it may prove too late whose it is
			var err error
			if conn, err = try(session, secret); err != nil {
				t.Logf("open: %v", err)
			}
			return err == nil
		})
		return conn
	}
	until(t, open("", ""))
	secret := func() (id, secret string) {
		id, secret = r.session(w, "cat").ID, store.NewSecret()
		if err := r.store.SetSessionSecret(t.Context(), id, secret); err != nil {
			t.Fatal(err)
		}
		return id, secret
	}
	id, greedy := secret()
	first, second := open(id, greedy), open(id, greedy)
	id, other := secret()
	open(id, other)
	until(t, first)
	open(id, other)
	open(id, other)
	if err := second.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Read(make([]byte, 1)); err == io.EOF {
		t.Error("the last connection of a session went to others that have more")
	}
}

// The body of a request that its caller may not make is not waited for, and all bodies of
// a caller are bounded together.
func TestBodiesAreReadForWhoMay(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.BodyTimeout = 2 * patience })
	for name, x := range map[string]struct {
		path  string
		scope store.Scope
		want  string
	}{
		"no such route":       {"POST /api/v1/nothing", store.ScopeFull, "404"},
		"not with that token": {"POST /api/v1/workspaces", store.ScopeRead, "403"},
		"of another session":  {"POST /api/v1/sessions/s0/report", store.ScopeFull, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			head := x.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nAuthorization: Bearer " + r.token(x.scope, "", time.Hour) + "\r\n\r\n{"
			if said := until(t, r.knock(head)); !strings.HasPrefix(said, "HTTP/1.1 "+x.want) {
				t.Errorf("%q", said)
			}
		})
	}
	head := "POST /api/v1/workspaces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1048576\r\nAuthorization: Bearer " + r.token(store.ScopeFull, "", time.Hour) + "\r\n\r\n{"
	said := make(chan string, 9)
	for range 9 {
		conn := r.knock(head)
		go func() {
			line, _ := bufio.NewReader(conn).ReadString(0)
			said <- line
		}()
	}
	select {
	case text := <-said:
		if !strings.Contains(text, "as many bodies of requests as it takes") {
			t.Errorf("%q", text)
		}
	case <-time.After(patience):
		t.Error("nine bodies of a mebibyte are read at a time")
	}
	if a := r.call("POST", "/workspaces", api.NewWorkspace{}); strings.Contains(string(a.body), "as many bodies") {
		t.Errorf("over the socket: %d %s", a.status, a.body)
	}
}
