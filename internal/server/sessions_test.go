//go:build linux || darwin

package server_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
)

func TestSessionFromStartToRemoval(t *testing.T) { eachBackend(t, fromStartToRemoval) }

func fromStartToRemoval(t *testing.T, p *place) {
	r := p.serve(t)
	w := r.workspace("fix-login", &api.NewSession{})
	if len(w.Sessions) != 1 {
		t.Fatalf("sessions: %+v", w.Sessions)
	}
	s := w.Sessions[0]
	if s.Name != "sh" || s.State != terminal.StateRunning || s.PID == 0 || s.Backend != p.backend.Name() || s.WorkspaceName != "fix-login" {
		t.Errorf("session: %+v", s)
	}
	path := "/sessions/" + s.ID
	r.call("POST", path+"/input", []byte("pwd; env; echo mark-$((40+2))\n"))
	waited := get[api.Waited](r, "GET", path+"/wait?for=text&value=mark-42&timeout=60s", nil)
	if waited.Match != "mark-42" {
		t.Errorf("waited: %+v", waited)
	}
	output := string(r.call("GET", path+"/output", nil).body)
	for _, want := range []string{w.Path, "MIDDLEMAN_WORKSPACE_NAME=fix-login", "MIDDLEMAN_WORKSPACE_BRANCH=" + w.Branch} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	if strings.Contains(output, "leak") {
		t.Errorf("a secret of the server reached the session:\n%s", output)
	}
	r.call("POST", path+"/input", []byte("exit 7\n"))
	waited = get[api.Waited](r, "GET", path+"/wait?for=exit&timeout=60s", nil)
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

func TestTitlesAreTold(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("titled", nil)
	events := r.events(t, "/workspaces/"+w.ID, "")
	s := r.session(w, "sh", "-c", `read line; printf '\033]2;a title\007'; read line`)
	r.call("POST", "/sessions/"+s.ID+"/input", []byte("\n"))
	told := events.until(func(e api.Event) bool { return e.Session != nil && e.Session.Title == "a title" })
	if told.Session.Watchers != 0 {
		t.Errorf("the server's own watch is counted: %+v", told.Session)
	}
}

// What nobody has seen is told when it begins, and when somebody looks.
func TestUnseenIsTold(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("rings", nil)
	events := r.events(t, "/workspaces/"+w.ID, "")
	s := r.session(w, "sh", "-c", `stty -echo; read line; printf 'x\a'; read line`)
	r.call("POST", "/sessions/"+s.ID+"/input", []byte("\n"))
	events.until(func(e api.Event) bool { return e.Session != nil && e.Session.Unseen != nil && e.Session.Unseen.Bell })
	a, err := r.place.backend.Session(s.ID).Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeWatch})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	events.until(func(e api.Event) bool { return e.Session != nil && *e.Session.Unseen == terminal.Unseen{} })
}

// Of many who start a session under one name, one does.
func TestOneSessionPerName(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("crowd", nil)
	answers := make([]answer, 10)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Name: "one", Command: []string{"cat"}})
		})
	}
	all.Wait()
	started := 0
	for _, a := range answers {
		switch {
		case a.status == 201:
			started++
		case a.status != 409 || a.problem(t).Code != api.CodeNameTaken:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if ids, err := r.place.backend.List(t.Context()); started != 1 || err != nil || len(ids) != 1 {
		t.Errorf("started %d, there are %v, %v", started, ids, err)
	}
}

// A stop is answered although another request removes the session as soon as it
// has ended, as the browser's Remove does.
func TestStopOfASessionThatIsRemovedMeanwhile(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("removed", nil)
	for range 10 {
		path := "/sessions/" + r.session(w, "cat").ID
		answers := make(chan answer, 1)
		go func() { answers <- r.call("DELETE", path, nil) }()
		for status := 200; status == 200; {
			a := r.call("GET", path, nil)
			var s api.Session
			if status = a.status; status == 200 {
				if err := json.Unmarshal(a.body, &s); err != nil {
					t.Fatal(err)
				}
			}
			if s.State.Ended() {
				r.call("DELETE", path, nil) // refused, or not, whatever the stop is doing
				break
			}
		}
		if a := <-answers; a.status != 200 {
			t.Errorf("stop: %d %s", a.status, a.body)
		}
	}
}

func TestStopEndsWhatTheProgramStarted(t *testing.T) {
	r := newPlace(t).serve(t)
	s := r.session(r.workspace("stopped", nil), "sh", "-c", "trap '' HUP TERM; sleep 1000 & echo up; wait; wait")
	path := "/sessions/" + s.ID
	get[api.Waited](r, "GET", path+"/wait?for=text&value=up&timeout=60s", nil)
	got := get[api.Session](r, "DELETE", path+"?grace=100ms", nil)
	if got.State != terminal.StateExited || got.Exit == nil || got.Exit.SignalName != "SIGKILL" {
		t.Errorf("stopped: %+v", got)
	}
	if listed := get[api.Session](r, "GET", path, nil); listed.State != terminal.StateExited {
		t.Errorf("listed: %+v", listed)
	}
}
