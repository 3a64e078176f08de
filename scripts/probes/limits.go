//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// fewFiles is how many descriptors the servers have that are to run out.
	fewFiles = 256
	// unfinished is how long a request without a login may take to send.
	unfinished = 45 * time.Second
)

func limitProbes() []probe {
	probes := []probe{{id: "control", title: "a server with few descriptors works", control: true,
		gain: "nothing: it shows that the servers below would answer if they were not attacked", run: func(w *world) error {
			s := w.fresh(serverOptions{wrap: few, target: true})
			defer s.stop()
			return errors.Join(s.alive(), s.page("/").wants("the shell", http.StatusOK))
		}}}
	for _, x := range []struct{ name, title, sent string }{
		{"silent", "connections that say nothing", ""},
		{"half-line", "connections that stop in the first line", "GET /api/v1/hea"},
		{"half-headers", "connections that stop in the headers", "GET / HTTP/1.1\r\nHost: ADDR\r\nX-"},
		{"kept-alive", "connections that have asked and stay", "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\n\r\n"},
		{"bodies", "POSTs whose body never comes", "POST /api/v1/workspaces HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 1000\r\n\r\n"},
		{"chunked-bodies", "POSTs whose chunks never come", "POST /api/v1/workspaces HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"logout-bodies", "logouts whose body never comes", "POST /api/v1/logout HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 1000\r\n\r\n"},
		{"expect", "POSTs that wait to be asked for their body", "POST /api/v1/workspaces HTTP/1.1\r\nHost: ADDR\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n"},
		{"shell-bodies", "GETs of the shell with a body that never comes", "GET / HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 1000\r\n\r\n"},
	} {
		probes = append(probes, probe{id: "flood/" + x.name, title: "600 " + x.title + ", at a server with 256 descriptors", slow: true,
			gain: "the end of the service for everybody, the command line included, without a login",
			run:  func(w *world) error { return flood(w, x.sent) }})
	}
	for _, x := range []struct{ name, title, sent, drip string }{
		{"header", "a header, one byte a second", "GET / HTTP/1.1\r\nHost: ADDR\r\nX-Slow: ", "x"},
		{"headers", "headers without end", "GET / HTTP/1.1\r\nHost: ADDR\r\n", "X: y\r\n"},
		{"body", "a body, one byte a second", "POST /api/v1/workspaces HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 1000\r\n\r\n", "x"},
		{"chunks", "chunks without end", "POST /api/v1/workspaces HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		{"public-body", "a body for a route that takes none, one byte a second", "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 1000\r\n\r\n", "x"},
		{"nothing", "nothing at all", "", ""},
	} {
		probes = append(probes, probe{id: "slow/" + x.name, title: "a request that sends " + x.title + " is let go of within " + unfinished.String(), slow: true,
			gain: "descriptors for ever, at no cost, until none are left",
			run:  func(w *world) error { return drip(must1(w.shared()), x.sent, x.drip) }})
	}
	for _, x := range oversize {
		probes = append(probes, probe{id: "large/" + x.name, title: x.title, gain: "memory or time of the server's, at no cost", run: func(w *world) error { return tooLarge(must1(w.heavy()), x) }})
	}
	return append(probes,
		probe{id: "guesses/tokens", title: "100 wrong tokens do not lock a right login out", gain: "the owner locked out by any local program", run: func(w *world) error { return guesses(w, tokenGuess) }},
		probe{id: "guesses/links", title: "100 wrong login links do not lock a right one out", gain: "the owner locked out by any local program", run: func(w *world) error { return guesses(w, linkGuess) }})
}

// few gives the command that follows few descriptors, for itself alone and the
// limit of what it may take again.
var few = []string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, fewFiles), "sh"}

// flood holds more connections than the server has descriptors. The Unix
// socket answers all the while, and TCP when they have gone.
func flood(w *world, sent string) error {
	s := w.fresh(serverOptions{wrap: few, target: true})
	defer s.stop()
	sent = strings.ReplaceAll(sent, "ADDR", s.addr)
	var held []net.Conn
	closeAll := func() {
		for _, c := range held {
			c.Close()
		}
	}
	defer closeAll()
	for range 600 {
		conn, err := net.DialTimeout("tcp", s.at, 2*time.Second)
		if err != nil {
			break // the server's queue is full
		}
		held = append(held, conn)
		_, _ = io.WriteString(conn, sent) // it may be refused already
	}
	if len(held) < 100 {
		return fmt.Errorf("only %d connections could be made: it proves nothing", len(held))
	}
	for range 3 {
		cmd := s.command("ls", "--json")
		if o := collectWithin(cmd, 20*time.Second); o.code != 0 || !strings.Contains(o.stdout, s.workspace) {
			return fmt.Errorf("with %d connections the Unix socket is dead: %s", len(held), o)
		}
	}
	if got := s.state(s.session); got != "running" {
		return fmt.Errorf("with %d connections a session's state is %q", len(held), got)
	}
	closeAll()
	deadline := time.Now().Add(patience)
	for {
		a := s.page("/api/v1/health")
		if a.status == http.StatusOK {
			return s.alive()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("TCP does not come back: %s", a)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// drip sends a byte each second and wants the connection closed.
func drip(s *server, sent, more string) error {
	conn := must1(net.DialTimeout("tcp", s.at, patience))
	defer conn.Close()
	must1(io.WriteString(conn, strings.ReplaceAll(sent, "ADDR", s.addr)))
	for deadline := time.Now().Add(unfinished); time.Now().Before(deadline); {
		must(conn.SetReadDeadline(time.Now().Add(time.Second)))
		_, err := io.Copy(io.Discard, conn)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if more != "" {
			_, _ = io.WriteString(conn, more) // reading tells that it is closed
		}
	}
	return fmt.Errorf("the connection is still open after %s", unfinished)
}

// oversized is a request that is refused in time and costs little memory.
type oversized struct {
	name, title string
	at          func(s *server) request
}

func list(path string, headers ...string) func(*server) request {
	return func(*server) request { return request{method: "GET", path: path, headers: headers} }
}

var oversize = []oversized{
	{"path", "a path of 1 MiB", list("/" + strings.Repeat("a", 1<<20))},
	{"query", "a query of 1 MiB", list("/api/v1/workspaces?x=" + strings.Repeat("a", 1<<20))},
	{"header", "a header of 1 MiB", list("/", "X: "+strings.Repeat("a", 1<<20))},
	{"headers", "20,000 headers", list("/", strings.Split(strings.Repeat("X: y\n", 20000), "\n")[:19999]...)},
	{"cookie", "a cookie of 1 MiB", list("/api/v1/workspaces", "Cookie: x="+strings.Repeat("a", 1<<20))},
	{"ranges", "10,000 ranges of a file", list("/", "Range: bytes="+strings.Repeat("0-,", 10000)+"0-")},
	{"accept", "40 KB of accepted languages", list("/", "Accept-Language: "+strings.Repeat("a;q=0.1,", 5000), "Accept-Encoding: "+strings.Repeat("a,", 5000))},
	{"body", "a body of 64 MiB without a login", func(s *server) request {
		return request{method: "POST", path: "/api/v1/workspaces", headers: []string{"Content-Type: application/json"}, body: strings.Repeat("x", 64<<20)}
	}},
	{"input", "an input of 64 MiB without a login", func(s *server) request {
		return request{method: "POST", path: "/api/v1/sessions/" + s.session + "/input", body: strings.Repeat("x", 64<<20)}
	}},
	{"deep", "a million nested arrays, logged in", func(s *server) request {
		return request{method: "POST", path: "/api/v1/workspaces", headers: append(s.auth(), "Content-Type: application/json"), body: strings.Repeat("[", 1<<20)}
	}},
	{"logged-in", "a body of 64 MiB, logged in", func(s *server) request {
		return request{method: "POST", path: "/api/v1/workspaces", headers: append(s.auth(), "Content-Type: application/json"), body: `{"name":"` + strings.Repeat("x", 64<<20) + `"}`}
	}},
	{"length", "a body that says it has 2^62 bytes", func(s *server) request {
		return request{method: "POST", path: "/api/v1/workspaces", headers: []string{"Content-Type: application/json", "Content-Length: 4611686018427387904"}, body: "x"}
	}},
}

func tooLarge(s *server, x oversized) error {
	before := s.memory()
	a := s.send(x.at(s))
	if a.status >= 200 && a.status < 300 && x.at(s).method == "POST" {
		return fmt.Errorf("it was taken: %s", a)
	}
	if a.status >= 500 && a.status != http.StatusNotImplemented {
		return fmt.Errorf("the server stumbled: %s", a)
	}
	if after := s.memory(); after > before+64<<20 {
		return fmt.Errorf("the server has %d MiB, before %d", after>>20, before>>20)
	}
	return s.alive()
}

func tokenGuess(i int) request {
	return request{method: "GET", path: "/api/v1/workspaces", headers: []string{fmt.Sprintf("Authorization: Bearer %026d", i)}}
}

// guesses sends 100 wrong secrets; then a login works.
func guesses(w *world, guess func(int) request) error {
	s := w.fresh(serverOptions{})
	defer s.stop()
	before := s.login()
	for i := range 100 {
		if err := s.send(guess(i)).refused("a guess"); err != nil {
			return err
		}
	}
	for what, auth := range map[string][]string{"the login from before": before, "a new login": s.login()} {
		if err := s.send(request{method: "GET", path: "/api/v1/workspaces", headers: auth}).wants(what, http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}
