//go:build linux || darwin

package server_test

import (
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
)

func TestSessionFromStartToRemoval(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("fix-login", &api.NewSession{})
	if len(w.Sessions) != 1 {
		t.Fatalf("sessions: %+v", w.Sessions)
	}
	s := w.Sessions[0]
	if s.Name != "sh" || s.State != terminal.StateRunning || s.PID == 0 || s.Backend != "pty-owner" || s.WorkspaceName != "fix-login" {
		t.Errorf("session: %+v", s)
	}
	path := "/sessions/" + s.ID
	r.call("POST", path+"/input", []byte("pwd; env; echo mark-$((40+2))\n"))
	waited := get[api.Waited](r, "GET", path+"/wait?for=text&value=mark-42&timeout=20s", nil)
	if waited.Match != "mark-42" {
		t.Errorf("waited: %+v", waited)
	}
	output := string(r.call("GET", path+"/output", nil).body)
	for _, want := range []string{w.Path, "TERM=xterm-256color", "MIDDLEMAN_WORKSPACE_NAME=fix-login", "MIDDLEMAN_WORKSPACE_BRANCH=" + w.Branch} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	if strings.Contains(output, "leak") {
		t.Errorf("a secret of the server reached the session:\n%s", output)
	}
	r.call("POST", path+"/input", []byte("exit 7\n"))
	waited = get[api.Waited](r, "GET", path+"/wait?for=exit&timeout=20s", nil)
	if e := waited.Session.Exit; e == nil || e.Code != 7 {
		t.Errorf("exit: %+v", waited.Session)
	}
	if got := get[api.Session](r, "DELETE", path, nil); got.State != terminal.StateExited {
		t.Errorf("removed: %+v", got)
	}
	if a := r.call("GET", path, nil); a.status != 404 || a.problem(t).Code != api.CodeNotFound {
		t.Errorf("after removal: %d %s", a.status, a.body)
	}
}
