//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
)

// rebound are Host headers of other names. PORT stands for the server's.
var rebound = []struct{ name, host string }{
	{"other-name", "evil.example"}, {"with-port", "evil.example:PORT"}, {"begins-like-ours", "127.0.0.1.evil.example:PORT"},
	{"nip", "127.0.0.1.nip.example:PORT"}, {"localhost-as-label", "localhost.evil.example:PORT"}, {"ends-like-ours", "evil-localhost:PORT"},
	{"subdomain-of-localhost", "evil.localhost:PORT"}, {"our-name-as-user", "127.0.0.1@evil.example:PORT"}, {"other-as-user", "evil.example@127.0.0.1:PORT"},
	{"decimal", "2130706433:PORT"}, {"hexadecimal", "0x7f000001:PORT"}, {"octal", "0177.0.0.1:PORT"}, {"short", "127.1:PORT"},
	{"unspecified", "0.0.0.0:PORT"}, {"unspecified-v6", "[::]:PORT"}, {"unspecified-short", "0:PORT"},
	{"lan", "192.0.2.1:PORT"}, {"link-local", "169.254.169.254:PORT"}, {"lan-v6", "[2001:db8::1]:PORT"},
	{"v6-zone", "[fe80::1%25lo]:PORT"}, {"v4-mapped-lan", "[::ffff:192.0.2.1]:PORT"},
	{"list", "127.0.0.1:PORT, evil.example"}, {"list-other-first", "evil.example, 127.0.0.1:PORT"}, {"space", "127.0.0.1:PORT evil.example"},
	{"path", "127.0.0.1:PORT/evil.example"}, {"fragment", "127.0.0.1:PORT#evil.example"}, {"port-of-letters", "evil.example:http"},
	{"two-ports", "127.0.0.1:PORT:80"}, {"unclosed", "[::1:PORT"}, {"nul", "127.0.0.1\x00.evil.example"}, {"tab", "127.0.0.1\t.evil.example"},
	{"cyrillic", "lосalhost:PORT"}, {"punycode", "xn--lalhost-bxf.example:PORT"}, {"underscore", "local_host:PORT"}, {"two-dots", "localhost..:PORT"},
}

func hostProbes() []probe {
	probes := []probe{{id: "control", title: "our own names work", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			s := must1(w.shared())
			for _, host := range []string{s.addr, s.at, "localhost:" + s.port(), "[::1]:" + s.port()} {
				if err := s.send(request{method: "GET", path: "/api/v1/health", host: host}).wants("host "+host, http.StatusOK); err != nil {
					return err
				}
			}
			return s.send(request{method: "GET", path: "/api/v1/workspaces", headers: s.auth()}).wants("our host", http.StatusOK)
		}}}
	const gain = "a page whose name was rebound to our address reads and types as the user"
	for _, h := range rebound {
		probes = append(probes, probe{id: "rebound/" + h.name, title: "Host: " + printable(h.host), gain: gain,
			run: func(w *world) error { return asHost(must1(w.shared()), h.host) }})
	}
	for _, x := range []struct{ name, title, raw string }{
		{"none", "no Host at all", "GET PATH HTTP/1.1\r\nAUTH\r\n\r\n"},
		{"empty", "an empty Host", "GET PATH HTTP/1.1\r\nHost:\r\nAUTH\r\n\r\n"},
		{"two", "two Hosts, the second ours", "GET PATH HTTP/1.1\r\nHost: evil.example\r\nHost: ADDR\r\nAUTH\r\n\r\n"},
		{"two-ours-first", "two Hosts, the first ours", "GET PATH HTTP/1.1\r\nHost: ADDR\r\nHost: evil.example\r\nAUTH\r\n\r\n"},
		{"absolute", "a request for another site by an absolute address", "GET http://evil.examplePATH HTTP/1.1\r\nHost: ADDR\r\nAUTH\r\n\r\n"},
		{"folded", "a Host that is folded over two lines", "GET PATH HTTP/1.1\r\nHost: ADDR\r\n .evil.example\r\nAUTH\r\n\r\n"},
		{"space-before-colon", "a Host with a space before its colon", "GET PATH HTTP/1.1\r\nHost : ADDR\r\nAUTH\r\n\r\n"},
		{"http-1.0", "HTTP/1.0 without a Host", "GET PATH HTTP/1.0\r\nAUTH\r\n\r\n"},
		{"http-0.9", "HTTP/0.9", "GET PATH\r\n"},
		{"http-2.0", "HTTP/2.0 in HTTP/1's clothes", "GET PATH HTTP/2.0\r\nHost: evil.example\r\nAUTH\r\n\r\n"},
		{"http-9", "a version that there is not", "GET PATH HTTP/9.9\r\nHost: evil.example\r\nAUTH\r\n\r\n"},
	} {
		probes = append(probes, probe{id: "shape/" + x.name, title: x.title, gain: gain, run: func(w *world) error { return rawHost(must1(w.shared()), x.raw) }})
	}
	for _, header := range []string{"X-Forwarded-Host", "X-Host", "X-Original-Host", "Forwarded"} {
		value := "127.0.0.1:PORT"
		if header == "Forwarded" {
			value = "host=" + value
		}
		probes = append(probes, probe{id: "forwarded/" + header, title: "a rebound Host beside " + header + ": ours", gain: gain, run: func(w *world) error {
			s := must1(w.shared())
			headers := append(s.auth(), header+": "+strings.ReplaceAll(value, "PORT", s.port()))
			return s.send(request{method: "GET", path: "/api/v1/workspaces", host: "evil.example", headers: headers}).refused(header)
		}})
	}
	return append(probes, probe{id: "echo", title: "a rebound Host is not written into the page that refuses it",
		gain: "a script in our own origin, by a name", run: func(w *world) error {
			a := must1(w.shared()).send(request{method: "GET", path: "/", host: "evil.example\"><script>alert(1)</script>", headers: []string{"Accept: text/html"}})
			if strings.Contains(a.header.Get("Content-Type"), "html") && strings.Contains(a.body, "<script>alert") {
				return fmt.Errorf("it is: %s", a)
			}
			return a.refused("a Host of markup")
		}})
}

func (s *server) port() string { return s.addr[strings.LastIndexByte(s.addr, ':')+1:] }

// asHost: neither the shell nor the API answers to the name, logged in or not.
func asHost(s *server, host string) error {
	host = strings.ReplaceAll(host, "PORT", s.port())
	if err := s.send(request{method: "GET", path: "/", host: host}).refused("the shell as " + host); err != nil {
		return err
	}
	auth := s.auth()
	if err := s.send(request{method: "GET", path: "/api/v1/workspaces", host: host, headers: auth}).refused("a list as " + host); err != nil {
		return err
	}
	input := request{method: "POST", path: "/api/v1/sessions/" + s.session + "/input", host: host, headers: append(auth, "Origin: http://"+host), body: "id\n"}
	return s.send(input).refused("input as " + host)
}

func rawHost(s *server, raw string) error {
	const path = "/api/v1/workspaces"
	a := s.sendRaw("GET", strings.NewReplacer("PATH", path, "ADDR", s.addr, "AUTH", strings.Join(s.auth(), "\r\n")).Replace(raw))
	if strings.Contains(a.body, s.workspace) {
		return fmt.Errorf("the list is told: %s", a)
	}
	return a.refused("the request")
}

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
