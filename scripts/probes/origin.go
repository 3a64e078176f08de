//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
)

// foreignSites are what browsers say of a request that begins elsewhere.
var foreignSites = []struct {
	name    string
	headers []string
}{
	{"other-site", []string{"Origin: http://evil.example"}},
	{"other-port", []string{"Origin: http://127.0.0.1:1"}},
	{"no-port", []string{"Origin: http://127.0.0.1"}},
	{"https", []string{"Origin: https://ADDR"}},
	{"null", []string{"Origin: null"}},
	{"file", []string{"Origin: file://"}},
	{"extension", []string{"Origin: chrome-extension://abcdefghijklmnop"}},
	{"localhost", []string{"Origin: http://localhost:PORT"}},
	{"begins-like-ours", []string{"Origin: http://ADDR.evil.example"}},
	{"ours-as-user", []string{"Origin: http://ADDR@evil.example"}},
	{"upper-case-scheme", []string{"Origin: HTTP://evil.example"}},
	{"with-path", []string{"Origin: http://ADDR/evil"}},
	{"list", []string{"Origin: http://ADDR http://evil.example"}},
	{"two", []string{"Origin: http://ADDR", "Origin: http://evil.example"}},
	{"two-other-first", []string{"Origin: http://evil.example", "Origin: http://ADDR"}},
	{"cross-site", []string{"Sec-Fetch-Site: cross-site"}},
	{"same-site", []string{"Sec-Fetch-Site: same-site"}},
	{"unknown-site", []string{"Sec-Fetch-Site: elsewhere"}},
	{"upper-case-site", []string{"Sec-Fetch-Site: CROSS-SITE"}},
	{"our-origin-cross-site", []string{"Origin: http://ADDR", "Sec-Fetch-Site: cross-site"}},
	{"foreign-origin-same-origin", []string{"Origin: http://evil.example", "Sec-Fetch-Site: same-origin"}},
}

// entrances are what a page of another site would use.
var entrances = []struct {
	name, gain string
	at         func(s *server) request
}{
	{"input", "a command typed into the user's shell by any page that is visited", func(s *server) request {
		return request{method: "POST", path: "/api/v1/sessions/" + s.session + "/input", headers: []string{"Content-Type: text/plain"}, body: "id\n"}
	}},
	{"terminal", "the terminal itself, by a WebSocket of any page that is visited", func(s *server) request {
		return request{method: "GET", path: "/api/v1/sessions/" + s.session + "/terminal", headers: upgradeHeaders}
	}},
	{"events", "everything that happens, read by any page that is visited", func(s *server) request {
		return request{method: "GET", path: "/api/v1/events", headers: []string{"Accept: text/event-stream"}}
	}},
}

var upgradeHeaders = []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}

func originProbes() []probe {
	probes := []probe{{id: "control", title: "our own page may do all of it", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			s := must1(w.shared())
			for _, e := range entrances {
				r := e.at(s)
				r.headers = append(append(r.headers, s.auth()...), "Origin: http://"+s.addr, "Sec-Fetch-Site: same-origin")
				if r.body != "" {
					r.body = " "
				}
				if err := s.send(r).wants(e.name+" by our page", http.StatusOK, http.StatusNoContent, http.StatusSwitchingProtocols); err != nil {
					return err
				}
			}
			return nil
		}}}
	for _, e := range entrances {
		for _, site := range foreignSites {
			probes = append(probes, probe{id: e.name + "/" + site.name, title: e.name + ", logged in, with " + strings.Join(site.headers, ", "), gain: e.gain,
				run: func(w *world) error {
					s := must1(w.shared())
					r := e.at(s)
					r.headers = append(append(r.headers, s.auth()...), s.named(site.headers)...)
					return s.send(r).wants(e.name, http.StatusForbidden, http.StatusBadRequest)
				}})
		}
	}
	for _, p := range []struct{ name, path, method, asked string }{
		{"input", "/api/v1/sessions/{s}/input", "POST", "content-type"}, {"list", "/api/v1/workspaces", "GET", "authorization"},
		{"delete", "/api/v1/sessions/{s}", "DELETE", "authorization"}, {"shell", "/", "GET", "x-canary"},
	} {
		probes = append(probes, probe{id: "preflight/" + p.name, title: "a CORS preflight for " + p.method + " " + p.path,
			gain: "leave for any page to send what browsers hold back", run: func(w *world) error { return preflight(must1(w.shared()), p.path, p.method, p.asked) }})
	}
	return append(probes,
		probe{id: "simple/form", title: "a form of another site that creates a workspace", gain: "a program of the attacker's choice by a visit",
			run: func(w *world) error { return crossForm(must1(w.shared())) }},
		probe{id: "simple/jsonp", title: "a list as a script, with a callback", gain: "the list, read as a script by any page",
			run: func(w *world) error { return jsonp(must1(w.shared())) }},
		probe{id: "simple/no-cors", title: "no answer to another site allows it to read", gain: "answers read by any page",
			run: func(w *world) error { return noCORS(must1(w.shared())) }})
}

// named puts the server's address into header lines.
func (s *server) named(lines []string) (named []string) {
	for _, line := range lines {
		named = append(named, strings.NewReplacer("ADDR", s.addr, "PORT", s.port()).Replace(line))
	}
	return named
}

func preflight(s *server, path, method, asked string) error {
	path = strings.ReplaceAll(path, "{s}", s.session)
	a := s.send(request{method: "OPTIONS", path: path, headers: []string{
		"Origin: http://evil.example", "Access-Control-Request-Method: " + method, "Access-Control-Request-Headers: " + asked,
		"Access-Control-Request-Private-Network: true", "Sec-Fetch-Site: cross-site"}})
	return allowsNothing(a)
}

func allowsNothing(a answer) error {
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Timing-Allow-Origin" {
			return fmt.Errorf("the answer has %s: %s\n%s", name, a.header.Get(name), a)
		}
	}
	return nil
}

func crossForm(s *server) error {
	a := s.send(request{method: "POST", path: "/api/v1/workspaces", body: `{"mode":"directory","name":"planted","x":"="}`,
		headers: append(s.auth(), "Content-Type: text/plain", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")})
	if err := a.refused("the form"); err != nil {
		return err
	}
	if o := s.ok("ls", "--json"); strings.Contains(o.stdout, "planted") {
		return fmt.Errorf("it was made: %s", o)
	}
	return nil
}

func jsonp(s *server) error {
	a := s.send(request{method: "GET", path: "/api/v1/workspaces?callback=steal", headers: append(s.auth(), "Sec-Fetch-Dest: script", "Sec-Fetch-Mode: no-cors")})
	if strings.HasPrefix(strings.TrimSpace(a.body), "steal") || strings.Contains(a.header.Get("Content-Type"), "script") {
		return fmt.Errorf("it is a script: %s", a)
	}
	return nil
}

func noCORS(s *server) error {
	for _, path := range []string{"/", "/api/v1/health", "/api/v1/workspaces", "/api/v1/events"} {
		a := s.send(request{method: "GET", path: path, headers: append(s.auth(), "Origin: http://evil.example")})
		if err := allowsNothing(a); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			return fmt.Errorf("%s: another site may embed it: %v", path, a.header)
		}
	}
	return nil
}
