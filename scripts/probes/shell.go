//go:build linux

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

func shellProbes() []probe {
	probes := []probe{{id: "control", title: "the shell and its script are served", control: true,
		gain: "nothing: it shows that what is looked at below is there", run: func(w *world) error {
			s := must1(w.shared())
			if err := s.page("/").wants("/", http.StatusOK); err != nil {
				return err
			}
			if assets := s.assets(); len(assets) < 2 {
				return fmt.Errorf("the shell names %v", assets)
			}
			return nil
		}}}
	for _, d := range []struct{ directive, want, gain string }{
		{"default-src", "'none'", "whatever no other line forbids: plug-ins, frames, media of the attacker's"},
		{"script-src", "'self'", "a script of another site run in our origin"},
		{"base-uri", "'none'", "our own scripts fetched from elsewhere by a planted base"},
		{"frame-ancestors", "'none'", "the user's clicks, by our page in an invisible frame"},
		{"connect-src", "'self'", "what a planted script finds, sent home"},
		{"require-trusted-types-for", "'script'", "markup from a session's output or a repository made a script"},
	} {
		probes = append(probes, probe{id: "csp/" + d.directive, title: "Content-Security-Policy: " + d.directive + " " + d.want, gain: d.gain,
			run: func(w *world) error { return policyHas(must1(w.shared()), d.directive, d.want) }})
	}
	for _, h := range []struct{ header, want, gain string }{
		{"X-Content-Type-Options", "nosniff", "a session's output read as a script or a page"},
		{"Referrer-Policy", "no-referrer", "our address and its secrets in the log of a linked site"},
		{"Cross-Origin-Opener-Policy", "same-origin", "a handle on our window for the page that opened it"},
		{"Cross-Origin-Resource-Policy", "same-origin", "our answers in another site's process, to be read by a side channel"},
		{"Server", "", "the exact build, to choose a hole by"},
		{"X-Powered-By", "", "the library, to choose a hole by"},
		{"Set-Cookie", "", "a credential that browsers send to every port of the host"},
	} {
		probes = append(probes, probe{id: "header/" + h.header, title: "every kind of answer has " + h.header + ": " + orNone(h.want), gain: h.gain,
			run: func(w *world) error { return everyAnswerHas(must1(w.shared()), h.header, h.want) }})
	}
	for _, path := range []string{"/assets/", "/assets", "/.git/config", "/.env", "/run/serve.json", "/serve.json", "/data/middleman.db", "/middleman.db", "/debug/pprof/", "/debug/vars", "/metrics", "/api/", "/api/v1", "/docs", "/schemas", "/../data/instance.json"} {
		probes = append(probes, probe{id: "tells-nothing" + path, title: path + " tells nothing without a login", gain: "a list of files, a file of state or a look into the process",
			run: func(w *world) error { return tellsNothing(must1(w.shared()), path) }})
	}
	return append(probes, moreShellProbes()...)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// moreShellProbes is long because it is one table of probes.
func moreShellProbes() []probe {
	return []probe{
		{id: "csp/no-unsafe", title: "no script source beyond our own files", gain: "an inline script or one built from a string, from injected markup",
			run: func(w *world) error {
				value := directive(must1(w.shared()).page("/").header.Get("Content-Security-Policy"), "script-src")
				if m := regexp.MustCompile(`unsafe-inline|unsafe-eval|unsafe-hashes|strict-dynamic|data:|blob:|https?:|\*`).FindString(value); m != "" {
					return fmt.Errorf("script-src has %s: %s", m, value)
				}
				return nil
			}},
		{id: "no-inline", title: "no inline script and no handler in the shell", gain: "a policy that has to allow inline scripts",
			run: func(w *world) error {
				body := must1(w.shared()).page("/").body
				if m := regexp.MustCompile(`(?i)<script(\s+type="[a-z]+")?>|\son[a-z]+\s*=|javascript:`).FindString(body); m != "" {
					return fmt.Errorf("the shell has %q", m)
				}
				return nil
			}},
		{id: "no-foreign", title: "nothing in the shell comes from another site", gain: "our origin, for whoever owns that site",
			run: func(w *world) error {
				if m := regexp.MustCompile(`(?:src|href)="(?:https?:)?//[^"]*"`).FindString(must1(w.shared()).page("/").body); m != "" {
					return fmt.Errorf("the shell has %s", m)
				}
				return nil
			}},
		{id: "same-for-all", title: "the shell is the same with and without a login", gain: "something of the user's in a page that anybody may fetch",
			run: func(w *world) error {
				s := must1(w.shared())
				with := s.send(request{method: "GET", path: "/", headers: s.auth()})
				if without := s.page("/"); with.body != without.body {
					return fmt.Errorf("with: %s\nwithout: %s", with, without)
				}
				return nil
			}},
		{id: "no-state", title: "no path, name or secret of the server in shell or scripts", gain: "where the state is, and what its secrets are",
			run: func(w *world) error { return noState(must1(w.shared())) }},
		{id: "no-secret-in-answers", title: "no path of the server's own state in any list", gain: "where sockets and tokens lie, for a script in the page",
			run: func(w *world) error { return noStatePaths(must1(w.shared())) }},
		{id: "api-not-cached", title: "answers of the API are stored nowhere", gain: "a screen or a secret in the browser's cache, after the login has ended",
			run: func(w *world) error {
				s := must1(w.shared())
				for _, path := range []string{"/api/v1/workspaces", "/api/v1/sessions/" + s.session + "/capture", "/api/v1/sessions/" + s.session + "/output", "/api/v1/events", "/api/v1/nothing"} {
					a := s.send(request{method: "GET", path: path, headers: s.auth()})
					if !strings.Contains(a.header.Get("Cache-Control"), "no-store") {
						return fmt.Errorf("%s: Cache-Control is %q", path, a.header.Get("Cache-Control"))
					}
				}
				return nil
			}},
		{id: "output-is-no-page", title: "a session's output is never a page", gain: "a script in our origin, printed by a program",
			run: func(w *world) error {
				s := must1(w.shared())
				for _, path := range []string{"/output", "/recording", "/capture"} {
					a := s.send(request{method: "GET", path: "/api/v1/sessions/" + s.session + path, headers: append(s.auth(), "Accept: text/html")})
					if t := a.header.Get("Content-Type"); t == "" || strings.Contains(t, "html") || strings.Contains(t, "svg") || strings.Contains(t, "xml") {
						return fmt.Errorf("%s: Content-Type is %q", path, t)
					}
				}
				return nil
			}},
		{id: "reflection", title: "no page repeats what was asked for as markup", gain: "a script in our origin by a link",
			run: func(w *world) error {
				s := must1(w.shared())
				for _, path := range []string{"/<script>alert(1)</script>", "/%3Cscript%3Ealert(1)%3C/script%3E", "/?x=<script>alert(1)</script>", "/login?token=<script>alert(1)</script>", "/api/v1/<script>alert(1)</script>"} {
					a := s.send(request{method: "GET", path: path, headers: []string{"Accept: text/html"}})
					if strings.Contains(a.header.Get("Content-Type"), "html") && strings.Contains(a.body, "<script>alert") {
						return fmt.Errorf("%s: %s", path, a)
					}
				}
				return nil
			}},
	}
}

func (s *server) page(path string) answer { return s.send(request{method: "GET", path: path}) }

// assets are the paths of the files that the shell names.
func (s *server) assets() (paths []string) {
	for _, m := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(s.page("/").body, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

func directive(policy, name string) string {
	for part := range strings.SplitSeq(policy, ";") {
		if key, value, _ := strings.Cut(strings.TrimSpace(part), " "); key == name {
			return value
		}
	}
	return ""
}

func policyHas(s *server, name, want string) error {
	for _, path := range append(s.assets(), "/", "/login", "/api/v1/health", "/api/v1/workspaces", "/nothing") {
		a := s.page(path)
		if name == "require-trusted-types-for" && !strings.Contains(a.header.Get("Content-Type"), "html") {
			continue // it is about pages that run scripts
		}
		policy := a.header.Get("Content-Security-Policy")
		if got := directive(policy, name); got != want {
			return fmt.Errorf("%s: %s is %q in %q", path, name, got, policy)
		}
	}
	return nil
}

// everyAnswerHas looks at pages, files, lists, refusals and errors.
func everyAnswerHas(s *server, header, want string) error {
	for _, path := range append(s.assets(), "/", "/login", "/login?token=x", "/nothing", "/assets/nothing.js", "/api/v1/health", "/api/v1/workspaces", "/api/v1/nothing", "/api/v2/x") {
		for _, r := range []request{
			{method: "GET", path: path}, {method: "HEAD", path: path}, {method: "POST", path: path}, {method: "GET", path: path, headers: s.auth()},
			{method: "GET", path: path, host: "evil.example"}, {method: "POST", path: path, headers: []string{"Origin: http://evil.example"}},
		} {
			if a := s.send(r); a.err == nil && a.header.Get(header) != want {
				return fmt.Errorf("%s %s (host %q): %s is %q, want %q: %s", r.method, path, r.host, header, a.header.Get(header), want, a)
			}
		}
	}
	return nil
}

// tellsNothing: the path is refused or is the shell, which everybody may have.
func tellsNothing(s *server, path string) error {
	a := s.page(path)
	if a.status >= 300 || a.err != nil || a.body == s.page("/").body {
		return staysHere(a)
	}
	return fmt.Errorf("it tells: %s", a)
}

// noState looks for what only the server's files know.
func noState(s *server) error {
	var serve struct{ Socket string }
	readJSON(s.home+"/run/serve.json", &serve)
	for _, path := range append(s.assets(), "/") {
		body := s.page(path).body
		for _, secret := range []string{s.home, serve.Socket, s.workspace, s.session, s.instance()} {
			if secret != "" && strings.Contains(body, secret) {
				return fmt.Errorf("%s has %q", path, secret)
			}
		}
	}
	return nil
}

func noStatePaths(s *server) error {
	for _, path := range []string{"/workspaces", "/sessions", "/sessions/" + s.session, "/backends", "/version", "/workers", "/trust", "/nothing", "/sessions/nothing"} {
		a := s.send(request{method: "GET", path: "/api/v1" + path, headers: s.auth()})
		for _, secret := range []string{s.home + "/run", s.home + "/data/sessions", s.home + "/data/middleman.db", "owner.sock", "serve.json"} {
			if strings.Contains(a.body, secret) {
				return fmt.Errorf("%s tells %q: %s", path, secret, a)
			}
		}
	}
	return nil
}
