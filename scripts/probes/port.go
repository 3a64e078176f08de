//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

const portGain = "our origin in the browser: a page, a service worker or a cached script that logs in when our server is back"

func portProbes() []probe {
	probes := []probe{{id: "control", title: "without a login the port is free once the server has ended", control: true,
		gain: "nothing: it shows that the refusals below are the holder's", run: portControl}}
	for _, how := range []struct {
		name string
		sig  syscall.Signal
	}{{"stopped", syscall.SIGTERM}, {"killed", syscall.SIGKILL}} {
		for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::"} {
			probes = append(probes, probe{id: how.name + "/" + strings.ReplaceAll(host, ":", "v6-"), gain: portGain,
				title: "listen on " + net.JoinHostPort(host, "our port") + " while our server is " + how.name,
				run:   func(w *world) error { return listenInstead(w, how.sig, host) }})
		}
	}
	return append(probes,
		probe{id: "next/same-origin", title: "the next server is the same origin, and the login holds", gain: "nothing: the user would be logged out", run: nextServer},
		probe{id: "given-up/login", title: "a login after the holder was killed and another program had the port", gain: portGain, run: func(w *world) error { return givenUp(w, "login") }},
		probe{id: "given-up/link", title: "a link after that", gain: portGain, run: func(w *world) error { return givenUp(w, "link") }},
		probe{id: "given-up/origin", title: "the origin after that is one that nobody had", gain: portGain, run: func(w *world) error { return givenUp(w, "origin") }},
		probe{id: "address/page", title: "a page at the address, which others may have had before", gain: portGain, run: func(w *world) error {
			s := must1(w.shared())
			a := s.send(request{method: "GET", path: "/", host: s.at})
			if to := a.header.Get("Location"); a.status != http.StatusTemporaryRedirect || to != "http://"+s.addr+"/" {
				return fmt.Errorf("it is shown, or leads to %q: %s", to, a)
			}
			return nil
		}},
		probe{id: "holder/says-nothing", title: "what the holder answers to who connects", gain: "a page in our origin", run: holderSays},
		probe{id: "other-address", title: "a port that another program has at the other loopback address", gain: portGain, run: otherAddress},
	)
}

// away starts a server, logs a browser in and ends the server.
func away(w *world, sig syscall.Signal) *browser {
	s := w.fresh(serverOptions{})
	b := s.enter()
	must(s.cmd.Process.Signal(sig))
	_ = s.cmd.Wait() // how it ended is no finding
	return b
}

func listenAt(host, port string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	return l.Close()
}

func portControl(w *world) error {
	s := w.fresh(serverOptions{})
	s.stop()
	return listenAt("127.0.0.1", s.port())
}

func listenInstead(w *world, sig syscall.Signal, host string) error {
	b := away(w, sig)
	switch err := listenAt(host, b.port()); {
	case err == nil:
		return fmt.Errorf("another program can listen at %s", net.JoinHostPort(host, b.port()))
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		return &skip{"the machine has no " + host}
	case !errors.Is(err, syscall.EADDRINUSE):
		return err
	}
	return nil
}

// again starts the next server of a home, at the same address.
func (b *browser) again() *server {
	return b.w.fresh(serverOptions{home: b.home, listen: b.at})
}

func nextServer(w *world) error {
	b := away(w, syscall.SIGKILL)
	next := b.again()
	defer next.stop()
	if next.addr != b.addr {
		return fmt.Errorf("it is %s, was %s", next.addr, b.addr)
	}
	b.server = next
	return next.works(bearer(b.access()))
}

func givenUp(w *world, what string) error {
	s := w.fresh(serverOptions{})
	b, link := s.enter(), linkToken(s.newLink())
	s.stop()
	holder := w.holderOf(s)
	must(syscall.Kill(holder, syscall.SIGKILL))
	var other net.Listener
	for deadline := time.Now().Add(patience); other == nil; time.Sleep(time.Millisecond) {
		l, err := net.Listen("tcp", s.at)
		if err != nil && time.Now().After(deadline) {
			return err
		}
		other = l
	}
	must(other.Close())
	next := b.again()
	defer next.stop()
	switch what {
	case "link":
		return next.trade(link, must1(newKey().PublicKey.Bytes())).wants("the link", http.StatusUnauthorized)
	case "origin":
		if next.addr == b.addr {
			return fmt.Errorf("it is %s again", b.addr)
		}
		return next.send(request{method: "GET", path: "/api/v1/health", host: b.addr}).wants("the origin of before", http.StatusMisdirectedRequest)
	}
	return next.post("/api/v1/login/challenge", map[string]any{"login": b.id, "nonce": "a-nonce-of-the-browser"}).wants("the login", http.StatusUnauthorized)
}

// holderOf is the process that holds a server's port.
func (w *world) holderOf(s *server) int {
	for _, pid := range w.descendants() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if strings.Contains(string(line), "hold-port\x00"+s.home+"/") {
			return pid
		}
	}
	must(fmt.Errorf("nobody holds the port of %s", s.home))
	return 0
}

func holderSays(w *world) error {
	b := away(w, syscall.SIGTERM)
	conn, err := net.DialTimeout("tcp", b.at, patience)
	if err != nil {
		return nil // closed already
	}
	defer conn.Close()
	must(conn.SetDeadline(time.Now().Add(patience)))
	_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: " + b.addr + "\r\n\r\n")) // it may be closed
	buf := make([]byte, 64)
	if n, err := conn.Read(buf); n > 0 || err == nil {
		return fmt.Errorf("it says %q", buf[:n])
	}
	return nil
}

func otherAddress(w *world) error {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return &skip{"the machine has no ::1"}
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	o := collect((&server{w: w, env: w.environ(w.place())}).command("serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port)))
	if o.code == 0 || !strings.Contains(o.stderr, "::1") {
		return fmt.Errorf("a server at the same port: %s", o)
	}
	return nil
}
