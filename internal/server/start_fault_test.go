//go:build faults && (linux || darwin)

package server_test

import (
	"net/http"
	"testing"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/terminal"
)

// ownerBegins is where an owner has not taken its lock yet.
const ownerBegins = "start/specification-read"

// theSession returns the only session of a server.
func theSession(r *running) api.Session {
	r.t.Helper()
	sessions := get[api.Sessions](r, "GET", "/sessions", nil).Sessions
	if len(sessions) != 1 {
		r.t.Fatalf("sessions: %+v", sessions)
	}
	return sessions[0]
}

// awaitOwner waits until an owner is held where it begins.
func awaitOwner(t *testing.T, plan *fault.Plan) {
	t.Helper()
	if _, err := plan.Await(ownerBegins); err != nil {
		t.Fatal(err)
	}
}

// A session that starts is shown as one, and is not taken for one that was lost.
func TestFaultListWhileStarting(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	plan := fault.NewPlan(t.TempDir())
	if err := plan.Set(ownerBegins, fault.Hold, 0, 1); err != nil {
		t.Fatal(err)
	}
	t.Setenv(plan.Variable())
	made := make(chan api.Session, 1)
	go func() {
		made <- get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}})
	}()
	awaitOwner(t, plan)
	if s := theSession(r); s.State != terminal.StateStarting || s.Attention.Group != "working" {
		t.Errorf("while it starts: %+v", s)
	}
	if err := plan.Release(ownerBegins); err != nil {
		t.Fatal(err)
	}
	if s := <-made; s.State != terminal.StateRunning || theSession(r).PID != s.PID {
		t.Errorf("started: %+v", s)
	}
}

// A server is killed while the owner of a session begins. The next one waits for it, and
// records no end of what is about to run.
func TestFaultStartKilled(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	r.stop()
	plan := fault.NewPlan(t.TempDir())
	if err := plan.Set(ownerBegins, fault.Hold, 0, 1); err != nil {
		t.Fatal(err)
	}
	server, dead := killableProcess(t, p.dirs, plan)
	req := r.request("POST", "http://localhost/api/v1/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}})
	answered := make(chan error, 1)
	go func() {
		_, err := (&http.Client{Transport: r.socket.Transport}).Do(req)
		answered <- err
	}()
	awaitOwner(t, plan)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	dead()
	if err := <-answered; err == nil {
		t.Error("the killed server has answered")
	}
	r = p.serve(t)
	s := theSession(r)
	if s.State != terminal.StateStarting {
		t.Errorf("after the restart: %+v", s)
	}
	if a := r.call("DELETE", "/sessions/"+s.ID+"?grace=0s", nil); a.problem(t).Code != api.CodeUnreachable {
		t.Errorf("stop of a session that starts: %d %s", a.status, a.body)
	}
	if err := plan.Release(ownerBegins); err != nil {
		t.Fatal(err)
	}
	r.until("the session runs", func() bool {
		row, err := r.store.Session(t.Context(), s.ID)
		return err == nil && row.State == terminal.StateRunning
	})
	if now := theSession(r); now.State != terminal.StateRunning {
		t.Errorf("in the end: %+v", now)
	}
}
