//go:build unix

package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/store"
	"middleman/terminal"
)

// route answers /version as ours, and every other path as it says.
func route(paths map[string]http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v1")
		switch answer := paths[path]; {
		case path == "/version":
			fmt.Fprint(w, ours)
		case answer != nil:
			answer(w, r)
		default:
			http.NotFound(w, r)
		}
	}
}

const (
	oneWorkspace = `{"workspaces":[{"id":"w0123456789abcdef","name":"fix","label":"fix","runtime":"liar","error":"` + planted + `"}]}`
	oneSession   = `{"sessions":[{"id":"s0123456789abcdef","name":"sh","workspace_id":"w0123456789abcdef","state":"running","agent":{"state":"working"}},` +
		`{"id":"s0123456789abcdee","name":"old","workspace_id":"w0123456789abcdef","state":"exited"}]}`
)

// While a remote does not answer, what it had when it last answered is listed with the
// time of that, and nothing of it is dead. A caller waits no longer than it wants.
func TestList(t *testing.T) {
	var mu sync.Mutex
	silent := false
	released := make(chan struct{})
	defer close(released)
	sessions := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		quiet := silent
		mu.Unlock()
		if quiet {
			select {
			case <-released:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprint(w, oneSession)
	}
	r := remoteOf(t, route(map[string]http.HandlerFunc{"/workspaces": says(200, oneWorkspace), "/sessions": sessions}), nil)
	if l, current := r.List(t.Context(), 0); current || !l.AsOf.IsZero() {
		t.Errorf("without patience: %+v, current %v", l, current)
	}
	l, current := r.List(t.Context(), time.Minute)
	if !current || len(l.Workspaces) != 1 || len(l.Sessions) != 2 {
		t.Fatalf("%+v, current %v", l, current)
	}
	if w := l.Workspaces[0]; w.Runtime != "box" || strings.Contains(w.Error, "hunter2") {
		t.Errorf("what it says of itself was believed: %+v", w)
	}
	told := Told(View(r.Config(), r.Status()), l, current)
	if s := told.Sessions[0]; s.State != terminal.StateRunning || s.Agent == nil || told.Runtime.State != string(Reachable) {
		t.Errorf("told: %+v", told)
	}
	mu.Lock()
	silent = true
	mu.Unlock()
	var later Listing
	best := time.Hour // a busy machine makes some of them slow
	for try := 0; try < 3 && best > 10*time.Second; try++ {
		began := time.Now()
		later, current = r.List(t.Context(), 50*time.Millisecond)
		best = min(best, time.Since(began))
	}
	if current || !later.AsOf.Equal(l.AsOf) || best > 10*time.Second {
		t.Errorf("of a silent remote: %+v, current %v after %s", later, current, best)
	}
	told = Told(View(r.Config(), r.Status()), later, current)
	if s := told.Sessions; s[0].State != terminal.StateUnreachable || s[0].Agent != nil || s[1].State != terminal.StateExited {
		t.Errorf("of a silent remote: %+v", s)
	}
	if later.Sessions[0].State != terminal.StateRunning {
		t.Error("what was kept was changed")
	}
}

// A list that does not end, or that is larger than a list may be, is given up.
func TestListIsBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"workspaces":[],"next":"x"}`) }
	long := says(200, `{"workspaces":[`+strings.TrimSuffix(strings.Repeat(`{"id":"w0123456789abcdef"},`, pageSize+1), ",")+`]}`)
	large := says(200, `{"workspaces":[`+strings.TrimSuffix(strings.Repeat(`{"id":"w0123456789abcdef","name":"`+strings.Repeat("x", 1000)+`"},`, 10_000), ",")+`]}`)
	for name, answer := range map[string]http.HandlerFunc{"endless": endless, "large": large, "more than was asked for": long} {
		r := remoteOf(t, route(map[string]http.HandlerFunc{"/workspaces": answer, "/sessions": says(200, oneSession)}), nil)
		l, current := r.List(t.Context(), time.Minute)
		if current || len(l.Workspaces) > 0 || r.Status().Reason != TooMuch {
			t.Errorf("%s: %d workspaces, current %v, %+v", name, len(l.Workspaces), current, r.Status())
		}
	}
}

// runtimesOf is a store with these runtimes.
type runtimesOf []store.Runtime

func (s runtimesOf) Runtimes(context.Context) ([]store.Runtime, error) { return s, nil }
func (runtimesOf) AddRuntime(context.Context, store.Runtime) error     { return nil }
func (runtimesOf) RemoveRuntime(context.Context, string) error         { return nil }

// followed starts a set with one remote that answers with h, follows it, and returns
// what it publishes and how to release it.
func followed(t *testing.T, h http.HandlerFunc) (events chan api.Event, release func()) {
	t.Helper()
	r := remoteOf(t, h, nil)
	events = make(chan api.Event, 4096)
	s := NewSet(runtimesOf{store.Runtime(r.config)}, "ssh", r.log, func(e api.Event) { events <- e })
	t.Cleanup(s.Close)
	release, err := s.Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events, release
}

// await returns the next event for which wanted is true.
func await(t *testing.T, events chan api.Event, what string, wanted func(api.Event) bool) api.Event {
	t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if wanted(e) {
				return e
			}
		case <-late:
			t.Fatalf("no event: %s", what)
		}
	}
}

func remoteOfType(name string) func(api.Event) bool {
	return func(e api.Event) bool { return e.Remote != nil && e.Remote.Type == name }
}

func event(id string, e api.Event) string {
	raw, err := json.Marshal(e)
	do(err)
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, e.Type, raw)
}

// Events come under the name of the runtime, with nothing that it explains in its own
// words. After a break they go on with the one after the last.
func TestFollow(t *testing.T) {
	asked := make(chan string, 16)
	events, release := followed(t, route(map[string]http.HandlerFunc{"/events": func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		asked <- last
		if last == "e.3" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		s := api.Session{ID: "s0123456789abcdef", Name: "sh", WorkspaceName: "fix", Runtime: "liar", Error: planted}
		fmt.Fprint(w, ":\n\n"+event("e.1", api.Event{Type: "session", ID: s.ID, Session: &s}))
		fmt.Fprint(w, event("e.2", api.Event{Type: "remote", Runtime: "third", Remote: &api.Event{Type: "session"}})+event("e.2", api.Event{Type: "unheard-of"}))
		fmt.Fprint(w, event("e.2", api.Event{Type: "notification", ID: s.ID, Text: "the build is done"}))
		s.Argv = []string{strings.Repeat("x", maxEvent)}
		fmt.Fprint(w, event("e.3", api.Event{Type: "session", ID: s.ID, Session: &s}))
	}}))
	await(t, events, "the state", func(e api.Event) bool { return e.State != nil && e.State.State == string(Reachable) })
	await(t, events, "the beginning", remoteOfType(client.Missed))
	e := await(t, events, "the session", remoteOfType("session"))
	raw, err := json.Marshal(e)
	if err != nil || e.Runtime != "box" || strings.Contains(string(raw), "hunter2") || strings.Contains(string(raw), "liar") {
		t.Errorf("%s, %v", raw, err)
	}
	if s := Unwrap(e).Session; s.WorkspaceName != "box:fix" || s.Runtime != "box" || e.Remote.Session.WorkspaceName != "fix" {
		t.Errorf("unwrapped: %+v", s)
	}
	if e := await(t, events, "what a program tells", remoteOfType("notification")); e.Runtime != "box" || e.Remote.Text != "the build is done" {
		t.Errorf("%+v", e.Remote)
	}
	if e := await(t, events, "the one that is too large", func(e api.Event) bool { return e.Remote != nil }); e.Remote.Type != client.Missed {
		t.Errorf("an event of a third machine, of an unknown type, or too large was passed on: %+v", e.Remote)
	}
	await(t, events, "the break", func(e api.Event) bool { return e.State != nil && e.State.State == string(Unreachable) })
	await(t, events, "the state again", func(e api.Event) bool { return e.State != nil && e.State.State == string(Reachable) })
	if got := []string{<-asked, <-asked}; !slices.Equal(got, []string{"", "e.3"}) {
		t.Errorf("asked after %q", got)
	}
	release()
}

// A remote that has more events than anybody reads is read slower.
func TestFloodOfEvents(t *testing.T) {
	events, release := followed(t, route(map[string]http.HandlerFunc{"/events": func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, event("e.1", api.Event{Type: "stage", ID: "w0123456789abcdef"})); err != nil {
				return
			}
		}
	}}))
	began := time.Now()
	for range 2 * eventBurst {
		await(t, events, "one of many", remoteOfType("stage"))
	}
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("%d events in %s", 2*eventBurst, took)
	}
	release()
}
