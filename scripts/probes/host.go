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
			for _, host := range []string{s.addr, "localhost:" + s.port(), "[::1]:" + s.port()} {
				if err := s.send(request{method: "GET", path: "/", host: host}).wants("host "+host, http.StatusOK); err != nil {
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
