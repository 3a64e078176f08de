//go:build linux || darwin

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// events is an open event stream.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string // id
}

func (r *running) events(t *testing.T, path, last string) *events {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // it is read all through the test
	t.Cleanup(cancel)
	req := r.request("GET", "http://localhost/api/v1"+path+"/events", nil).WithContext(ctx)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.socket.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("events: %d %q", resp.StatusCode, got)
	}
	e := &events{t: t, lines: bufio.NewScanner(resp.Body)}
	if last == "" {
		e.block() // the id to start from
	}
	return e
}

// block reads to the next empty line and returns the data in it.
func (e *events) block() string {
	e.t.Helper()
	data := ""
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch field {
		case "":
			return data
		case "id":
			e.last = value
		case "data":
			data = value
		}
	}
	e.t.Fatalf("the stream ended: %v", e.lines.Err())
	return ""
}

func (e *events) until(ok func(api.Event) bool) api.Event {
	e.t.Helper()
	for {
		data := e.block()
		if data == "" {
			continue
		}
		var event api.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			e.t.Fatal(err)
		}
		if ok(event) {
			return event
		}
	}
}

func TestEventsResume(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	live := r.events(t, "", "")
	w := r.workspace("told", nil)
	first := live.until(func(e api.Event) bool { return e.Type == "workspace" && e.ID == w.ID })
	if first.Workspace.State != workspace.StateCreating {
		t.Errorf("first event: %+v", first)
	}
	at := live.last
	live.until(func(e api.Event) bool { return e.Type == "stage" && e.Stage.Name == "ready" && e.Stage.State == "done" })
	r.session(w, "true")

	// Who comes back with an id gets exactly what follows it.
	back := r.events(t, "", at)
	var kinds []string
	back.until(func(e api.Event) bool {
		kinds = append(kinds, e.Type)
		return e.Session != nil && e.Session.State.Ended()
	})
	if kinds[0] != "stage" || slices.Contains(kinds, "resync") {
		t.Errorf("resumed with %v", kinds)
	}
	one := r.events(t, "/workspaces/"+w.ID, at)
	other := r.workspace("other", nil)
	r.call("DELETE", "/workspaces/"+w.ID, nil)
	one.until(func(e api.Event) bool {
		if e.ID == other.ID {
			t.Errorf("an event of another workspace: %+v", e)
		}
		return e.Type == "workspace-deleted"
	})
	r.stop()

	// Ids of the server before mean nothing now, and that is said.
	r = p.serve(t)
	if got := r.events(t, "", at).until(func(api.Event) bool { return true }); got.Type != "resync" {
		t.Errorf("with an id of another server: %+v", got)
	}
}
