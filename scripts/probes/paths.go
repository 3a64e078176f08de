//go:build linux

package main

import (
	"fmt"
	"net/http"
	"strings"
)

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
