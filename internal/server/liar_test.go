//go:build linux || darwin

package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"middleman/internal/api"
)

// What a runtime tells of something else than was asked for is not passed on: another
// workspace, session, request or bundle, a session of the hub's own, an id that is a path.
func TestAnswerAboutAnother(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	own := r.workspace("own", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	const workspace, session, approval = "w0123456789abcdef", "s0123456789abcdef", "a0123456789abcdef"
	digest, other := strings.Repeat("0", 64), strings.Repeat("1", 64)
	for _, x := range []struct {
		method, path, answer string
		ok                   bool
	}{
		{"GET", "workspaces/" + workspace, `{"id":"` + workspace + `"}`, true},
		{"GET", "workspaces/" + workspace, `{"id":"w0123456789abcdee"}`, false},
		{"GET", "workspaces/by-name", `{"id":"` + workspace + `"}`, true},
		{"DELETE", "workspaces/" + workspace, `{"workspace":{"id":"w0123456789abcdee"}}`, false},
		{"GET", "sessions/" + session, `{"id":"` + own + `"}`, false},
		{"DELETE", "sessions/" + session, `{"id":"` + own + `"}`, false},
		{"GET", "approvals/" + approval, `{"id":"a0123456789abcdee"}`, false},
		{"GET", "bundles/team/availability?digest=" + digest, `{"id":"team","digest":"` + digest + `","available":true}`, true},
		{"GET", "bundles/team/availability?digest=" + digest, `{"id":"team","digest":"` + other + `","available":true}`, false},
		{"GET", "sessions", `{"sessions":[{"id":"x/../../../../sessions/` + own + `"}]}`, false},
		{"GET", "search?text=x", `{"matches":[{"session_id":"../` + own + `"}]}`, false},
	} {
		f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, x.answer) })
		r.call("POST", "/runtimes/box/check", nil) // else a call right after a failure fails at once
		a := r.call(x.method, "/runtimes/box/"+x.path, nil)
		if x.ok && a.status != http.StatusOK || !x.ok && (a.problem(t).Code != api.CodeRuntimeLost || strings.Contains(string(a.body), own)) {
			t.Errorf("%s %s, answered with %s: %d %s", x.method, x.path, x.answer, a.status, a.body)
		}
	}
}
