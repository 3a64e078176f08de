//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
)

func methodProbes() []probe {
	probes := []probe{{id: "control", title: "the right method on the same path works", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			s := must1(w.shared())
			return s.send(request{method: "GET", path: "/api/v1/sessions", headers: s.auth()}).wants("GET", http.StatusOK)
		}}}
	for _, m := range []struct{ method, gain string }{
		{"HEAD", "the length of what GET would tell, without a login"},
		{"OPTIONS", "a list of methods for a page of another origin"},
		{"TRACE", "headers echoed to a script, credentials included"},
		{"TRACK", "the same by another name"},
		{"CONNECT", "a proxy to the machine's own ports"},
		{"PATCH", "a change by a method that no check thinks of"},
		{"PUT", "a file put where the shell is served from"},
		{"PROPFIND", "a listing of the files that the shell is served from"},
		{"get", "a GET that a check by name does not see"},
		{"GETX", "a method that begins like one that is allowed"},
		{"PRI", "another protocol, HTTP/2, around the checks"},
	} {
		probes = append(probes, probe{id: "none/" + m.method, title: m.method + " on a list, without credentials", gain: m.gain,
			run: func(w *world) error { return oddMethod(must1(w.shared()), m.method) }})
	}
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		probes = append(probes, probe{id: "override/" + header, title: "a GET that says it is a DELETE by " + header,
			gain: "a delete by what a browser sends without a check",
			run:  func(w *world) error { return override(must1(w.shared()), header) }})
	}
	for _, m := range []struct{ method, path, gain string }{
		{"GET", "/api/v1/login-links", "a login link by a mere link or image"},
		{"GET", "/api/v1/logout", "a logout by a mere link or image"},
		{"GET", "/api/v1/prune", "a removal by a mere link or image"},
		{"HEAD", "/api/v1/sessions/{s}/input", "input by a request that browsers send freely"},
		{"GET", "/api/v1/sessions/{s}/input?text=id", "input by a mere link or image"},
		{"GET", "/api/v1/workspaces/{w}?_method=DELETE", "a delete by a mere link or image"},
		{"GET", "/api/v1/workspaces/{w}/restore", "a restore by a mere link or image"},
		{"PUT", "/api/v1/sessions/{s}/input", "input by a method that a check by name does not see"},
	} {
		slug := strings.NewReplacer("/api/v1/", "", "/{s}", "", "/{w}", "", "?", "-", "=", "-").Replace(m.path)
		probes = append(probes, probe{id: "change/" + m.method + "-" + slug, title: m.method + " " + m.path + ", logged in", gain: m.gain,
			run: func(w *world) error { return changeBy(must1(w.shared()), m.method, m.path) }})
	}
	return probes
}

// oddMethod: no answer with a method that the route lacks tells anything.
func oddMethod(s *server, method string) error {
	a := s.send(request{method: method, path: "/api/v1/workspaces", headers: []string{"X-Canary: echo-me"}})
	if err := a.refused(method); err != nil {
		return err
	}
	if strings.Contains(a.body, "echo-me") || strings.Contains(a.body, s.workspace) {
		return fmt.Errorf("the answer tells: %s", a)
	}
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			return fmt.Errorf("the answer has %s: %s", name, a)
		}
	}
	return nil
}

func override(s *server, header string) error {
	path := "/api/v1/sessions/" + s.session
	a := s.send(request{method: "GET", path: path, headers: append(s.auth(), header+": DELETE")})
	if err := a.wants("GET with "+header, http.StatusOK); err != nil {
		return err
	}
	return s.alive()
}

// changeBy: a login is no help to a request that is no change by its method.
func changeBy(s *server, method, path string) error {
	path = strings.NewReplacer("{w}", s.workspace, "{s}", s.session).Replace(path)
	if err := s.send(request{method: method, path: path, headers: s.auth()}).refused(method + " " + path); err != nil {
		return err
	}
	return s.alive()
}

func pathProbes() []probe {
	probes := []probe{{id: "control", title: "the plain path works with a login, and a file of the shell without", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			s := must1(w.shared())
			if err := s.send(request{method: "GET", path: "/"}).wants("the shell", http.StatusOK); err != nil {
				return err
			}
			return s.send(request{method: "GET", path: "/api/v1/workspaces", headers: s.auth()}).wants("a list", http.StatusOK)
		}}}
	for _, p := range []struct{ name, path string }{
		{"double-slash", "//api/v1/workspaces"}, {"inner-double-slash", "/api//v1/workspaces"}, {"late-double-slash", "/api/v1//workspaces"},
		{"dot", "/./api/v1/workspaces"}, {"inner-dot", "/api/v1/./workspaces"}, {"dot-dot", "/x/../api/v1/workspaces"},
		{"dot-dot-in-public", "/api/v1/health/../workspaces"}, {"encoded-dot-dot", "/api/v1/health/%2e%2e/workspaces"},
		{"half-encoded-dot-dot", "/api/v1/health/.%2e/workspaces"}, {"double-encoded", "/api/v1/health/%252e%252e/workspaces"},
		{"encoded-slash", "/api/v1%2fworkspaces"}, {"encoded-letter", "/%61pi/v1/workspaces"}, {"encoded-last-letter", "/api/v1/workspace%73"},
		{"upper-case", "/API/V1/WORKSPACES"}, {"mixed-case", "/Api/v1/workspaces"}, {"trailing-slash", "/api/v1/workspaces/"},
		{"parameter", "/api/v1/workspaces;x=1"}, {"nul", "/api/v1/workspaces%00"}, {"nul-and-public", "/api/v1/workspaces%00/health"},
		{"newline", "/api/v1/workspaces%0a"}, {"space", "/api/v1/workspaces%20"}, {"backslash", "/api\\v1\\workspaces"},
		{"encoded-backslash", "/api%5cv1%5cworkspaces"}, {"overlong-slash", "/api/v1%c0%afworkspaces"}, {"full-width", "/api/v1/%ef%bd%97orkspaces"},
		{"fragment", "/api/v1/workspaces%23"}, {"raw-fragment", "/api/v1/workspaces#/health"}, {"question", "/api/v1/workspaces%3f"},
		{"suffix", "/api/v1/workspaces.json"}, {"css", "/api/v1/workspaces/x.css"}, {"no-slash", "api/v1/workspaces"},
		{"other-version", "/api/v2/workspaces"}, {"version-zero", "/api/v1/../v0/workspaces"},
	} {
		probes = append(probes, probe{id: "none/" + p.name, title: "a list as " + p.path + ", without credentials",
			gain: "the list, around a check that looks at the path as it was sent", run: func(w *world) error { return listAs(must1(w.shared()), p.path) }})
	}
	for _, p := range []struct{ name, path string }{
		{"dot-dot", "/../../../../etc/passwd"}, {"encoded", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd"}, {"encoded-slash", "/..%2f..%2f..%2f..%2fetc%2fpasswd"},
		{"double-encoded", "/%252e%252e%252f%252e%252e%252fetc/passwd"}, {"backslash", "/..\\..\\..\\etc\\passwd"}, {"absolute", "//etc/passwd"},
		{"assets", "/assets/../../../../etc/passwd"}, {"nul", "/index.html%00/../../etc/passwd"}, {"proc", "/../../proc/self/environ"},
		{"file-url", "/file:///etc/passwd"},
	} {
		probes = append(probes, probe{id: "file/" + p.name, title: "a file of the machine as " + p.path,
			gain: "any file that the user may read, without a login", run: func(w *world) error { return fileAs(must1(w.shared()), p.path) }})
	}
	return probes
}

// listAs: whatever the answer is, it is not the list, and leads to no other site.
func listAs(s *server, path string) error {
	a := s.send(request{method: "GET", path: path})
	if strings.Contains(a.body, s.workspace) {
		return fmt.Errorf("the list is told: %s", a)
	}
	return staysHere(a)
}

// staysHere returns evidence where the answer sends the browser to another site.
func staysHere(a answer) error {
	to := a.header.Get("Location")
	if to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\")) {
		return fmt.Errorf("it redirects to %q", to)
	}
	return nil
}

func fileAs(s *server, path string) error {
	a := s.send(request{method: "GET", path: path})
	if strings.Contains(a.body, "root:") || strings.Contains(a.body, "PATH=") {
		return fmt.Errorf("the file is told: %s", a)
	}
	return staysHere(a)
}
