//go:build linux || darwin

package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/workspace"
)

// until polls a condition that no event tells of.
func (r *running) until(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// events is an open event stream.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string // id
}

func (r *running) events(t *testing.T, path, last string) *events {
	t.Helper()
	req := r.request("GET", "http://localhost/api/v1"+path+"/events", nil)
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

func TestIdempotency(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	ask := api.NewWorkspace{Name: "once", Directory: p.repository}
	first := get[api.Created](r, "POST", "/workspaces", ask, "Idempotency-Key", "k1")
	again := r.call("POST", "/workspaces", ask, "Idempotency-Key", "k1")
	var second api.Created
	if err := json.Unmarshal(again.body, &second); err != nil {
		t.Fatal(err)
	}
	if again.status != 202 || second.Workspace.ID != first.Workspace.ID || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	ask.Name = "other"
	if a := r.call("POST", "/workspaces", ask, "Idempotency-Key", "k1"); a.status != 422 || a.problem(t).Code != "idempotency-key-reused" {
		t.Errorf("same key, other body: %d %s", a.status, a.body)
	}
	if a := r.call("POST", "/workspaces", ask); a.status != 202 {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	// What was refused may be tried again with the same key.
	path := "/workspaces/" + first.Workspace.ID
	write(t, filepath.Join(get[api.Workspace](r, "GET", path+"?wait=30s", nil).Root, "new"), "work")
	if a := r.call("DELETE", path, nil, "Idempotency-Key", "d1"); a.status != 409 {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if err := os.Remove(filepath.Join(first.Workspace.Root, "new")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := r.call("DELETE", path, nil, "Idempotency-Key", "d1"); a.status != 200 {
			t.Errorf("delete again: %d %s", a.status, a.body)
		}
	}
	r.stop()
	r = p.serve(t)
	if a := r.call("DELETE", path, nil, "Idempotency-Key", "d1"); a.status != 200 {
		t.Errorf("delete again, after a restart: %d %s", a.status, a.body)
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	empty, plain := filepath.Join(t.TempDir(), "empty"), t.TempDir()
	git(t, plain, "init", "-q", empty)
	git(t, p.repository, "branch", "taken")
	w := r.workspace("taken", nil)
	sessions := "/workspaces/" + w.ID + "/sessions"
	in := func(name, dir, base, branch string) api.NewWorkspace {
		return api.NewWorkspace{Name: name, Directory: dir, Base: base, Branch: branch}
	}
	command := func(argv ...string) api.NewSession { return api.NewSession{Command: argv} }
	for _, x := range []struct {
		name, path string
		in         any
		status     int
		code       string
	}{
		{"not a repository", "/workspaces", in("a", plain, "", ""), 422, api.CodeNotRepository},
		{"no commits", "/workspaces", in("a", empty, "", ""), 422, api.CodeNoCommits},
		{"relative directory", "/workspaces", in("a", "repository", "", ""), 422, api.CodeBadRequest},
		{"name that climbs", "/workspaces", in("../a", p.repository, "", ""), 422, api.CodeBadName},
		{"name that is taken", "/workspaces", in("taken", p.repository, "", ""), 409, api.CodeNameTaken},
		{"branch that is taken", "/workspaces", in("a", p.repository, "", "taken"), 409, api.CodeBranchTaken},
		{"base that is not there", "/workspaces", in("a", p.repository, "nowhere", ""), 422, api.CodeBadBase},
		{"unknown mode", "/workspaces", map[string]any{"mode": "cloud", "directory": p.repository}, 422, api.CodeBadRequest},
		{"unknown field", "/workspaces", map[string]any{"nam": "a"}, 422, api.CodeBadRequest},
		{"no JSON", "/workspaces", json.RawMessage(`"`), 0, ""},
		{"workspace with an unknown command", "/workspaces", api.NewWorkspace{Name: "a", Directory: p.repository,
			Session: &api.NewSession{Command: []string{"no-such-command"}}}, 422, api.CodeStartFailed},
		{"unknown command", sessions, command("no-such-command"), 422, api.CodeStartFailed},
		{"relative command", sessions, command("./script"), 422, api.CodeStartFailed},
		{"absolute command that is not there", sessions, command("/no/such/command"), 422, api.CodeStartFailed},
		{"directory as command", sessions, command("/tmp"), 422, api.CodeStartFailed},
		{"unknown profile", sessions, api.NewSession{Profile: "claude"}, 422, api.CodeUnsupported},
		{"backend that is not there", sessions, api.NewSession{Backend: "tmux"}, 422, api.CodeUnsupported},
		{"unknown backend", sessions, api.NewSession{Backend: "screen"}, 422, api.CodeBadRequest},
		{"bad session name", sessions, api.NewSession{Name: "a/b"}, 422, api.CodeBadName},
		{"bad environment", sessions, api.NewSession{Env: []string{"no value"}}, 422, api.CodeBadRequest},
		{"our environment", sessions, api.NewSession{Env: []string{"MIDDLEMAN_SESSION=x"}}, 422, api.CodeBadRequest},
		{"size of nothing", sessions, map[string]any{"size": map[string]int{"cols": 80, "rows": 0}}, 422, api.CodeBadRequest},
		{"unknown workspace", "/workspaces/w0000000000000000/sessions", command("true"), 404, api.CodeNotFound},
		{"unknown parameter", "/workspaces?force=1", in("a", p.repository, "", ""), 422, api.CodeBadRequest},
	} {
		t.Run(x.name, func(t *testing.T) {
			if raw, ok := x.in.(json.RawMessage); ok {
				a := r.do(r.socket, r.request("POST", "http://localhost/api/v1"+x.path, []byte(raw), "Content-Type", "application/json"))
				if a.status < 400 || a.status >= 500 {
					t.Errorf("status %d", a.status)
				}
				a.problem(t)
				return
			}
			a := r.call("POST", x.path, x.in)
			if a.status != x.status {
				t.Fatalf("status %d: %s", a.status, a.body)
			}
			p := a.problem(t)
			if p.Code != x.code || strings.Contains(p.Detail, "\n") {
				t.Errorf("problem: %s", a.body)
			}
		})
	}
	if got := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces; len(got) != 1 {
		t.Errorf("workspaces: %+v", got)
	}
	if got := get[api.Sessions](r, "GET", "/sessions", nil).Sessions; len(got) != 0 {
		t.Errorf("sessions: %+v", got)
	}
	if left, err := os.ReadDir(p.dirs.Sessions()); err == nil && len(left) != 0 {
		t.Errorf("state of sessions: %v", left)
	}
}

func TestOpenAPIListsAllRoutes(t *testing.T) {
	r := newPlace(t).serve(t)
	var doc struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	a := r.call("GET", "/openapi.json", nil)
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Servers[0].URL != "/api/v1" {
		t.Errorf("openapi %s, servers %v", doc.OpenAPI, doc.Servers)
	}
	var got []string
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
			if op.OperationID == "" || ids[op.OperationID] || len(op.Responses) < 2 {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			ids[op.OperationID] = true
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /sessions/{session}", "DELETE /workspaces/{workspace}", "GET /events", "GET /health", "GET /sessions",
		"GET /sessions/{session}", "GET /sessions/{session}/capture", "GET /sessions/{session}/output",
		"GET /sessions/{session}/terminal", "GET /sessions/{session}/wait", "GET /version", "GET /workspaces",
		"GET /workspaces/{workspace}", "GET /workspaces/{workspace}/events", "GET /workspaces/{workspace}/sessions",
		"POST /login-links", "POST /logout", "POST /sessions/{session}/input", "POST /workspaces", "POST /workspaces/{workspace}/sessions",
	}
	if !slices.Equal(got, want) {
		t.Errorf("routes:\n%s", strings.Join(got, "\n"))
	}
	if doc.Components.Schemas["Problem"] == nil || strings.Contains(string(a.body), "$schema") {
		t.Error("no schema of problems, or $schema links")
	}
	checkRefs(t, a.body)
	for _, path := range []string{"/docs", "/api/v1/docs", "/api/v1/openapi.yaml", "/api/v1/schemas/Workspace.json"} {
		if a := r.do(r.socket, r.request("GET", "http://localhost"+path, nil)); strings.HasPrefix(path, "/api") && a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// checkRefs resolves each $ref of a document.
func checkRefs(t *testing.T, data []byte) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, x := range node {
				walk(x)
			}
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				at := any(doc)
				for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[name]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, x := range node {
				walk(x)
			}
		}
	}
	walk(doc)
}

func TestListsHaveCursors(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("many", nil)
	var want []string
	for range 3 {
		want = append(want, r.session(w, "true").Name)
	}
	if !slices.Equal(want, []string{"true", "true-2", "true-3"}) {
		t.Errorf("names: %v", want)
	}
	var got []string
	for cursor, pages := "", 0; ; pages++ {
		page := get[api.Sessions](r, "GET", "/workspaces/"+w.ID+"/sessions?limit=1&cursor="+cursor, nil)
		for _, s := range page.Sessions {
			got = append(got, s.Name)
		}
		if cursor = page.Next; cursor == "" || pages > 5 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages: %v", got)
	}
	if a := r.call("GET", "/sessions?cursor=nonsense", nil); a.status != 400 {
		t.Errorf("bad cursor: %d %s", a.status, a.body)
	}
}

func TestWait(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("patient", nil)
	s := r.session(w, "sh", "-c", `echo ready-7; read line; echo "got $line"; read line; exit 3`)
	path := "/sessions/" + s.ID
	wait := func(query string) answer { return r.call("GET", path+"/wait?"+query, nil) }
	for _, x := range []struct {
		query  string
		status int
		match  string
	}{
		{"for=text&value=ready-&timeout=20s", 200, "ready-"},
		{"for=regex&value=ready-%5B0-9%5D%2B&timeout=20s", 200, "ready-7"},
		{"for=quiet&value=50ms&timeout=20s", 200, ""},
		{"for=text&value=nowhere&timeout=50ms", 504, ""},
		{"for=exit&timeout=50ms", 504, ""},
		{"for=regex&value=%5B", 422, ""},
		{"for=text", 422, ""},
		{"for=miracle", 422, ""},
		{"for=exit&timeout=soon", 422, ""},
	} {
		a := wait(x.query)
		if a.status != x.status || !strings.Contains(string(a.body), x.match) {
			t.Errorf("%s: %d %s", x.query, a.status, a.body)
		}
		if a.status == 504 && a.problem(t).Code != api.CodeTimeout {
			t.Errorf("%s: %s", x.query, a.body)
		}
	}
	answers := make(chan answer, 1)
	go func() { answers <- wait("for=text&value=got+it&timeout=20s") }()
	r.call("POST", path+"/input", []byte("it\n"))
	if a := <-answers; a.status != 200 {
		t.Errorf("text to come: %d %s", a.status, a.body)
	}
	go func() { answers <- wait("for=text&value=never&timeout=20s") }()
	r.call("POST", path+"/input", []byte("\n"))
	if a := <-answers; a.status != 409 || a.problem(t).Code != api.CodeEnded {
		t.Errorf("text that never came: %d %s", a.status, a.body)
	}
	got := get[api.Waited](r, "GET", path+"/wait?for=exit", nil)
	if got.Session.Exit == nil || got.Session.Exit.Code != 3 {
		t.Errorf("exit: %+v", got)
	}
}

func TestOutputByOffset(t *testing.T) {
	r := newPlace(t).serve(t)
	s := r.session(r.workspace("bytes", nil), "printf", "0123456789")
	path := "/sessions/" + s.ID
	get[api.Waited](r, "GET", path+"/wait?for=exit&timeout=20s", nil)
	for _, x := range []struct {
		query  string
		status int
		want   string
	}{{"", 200, "0123456789"}, {"?from=4", 200, "456789"}, {"?from=10", 200, ""}, {"?from=11", 416, ""}, {"?from=-1", 422, ""}} {
		a := r.call("GET", path+"/output"+x.query, nil)
		if a.status != x.status || (x.status == 200 && string(a.body) != x.want) {
			t.Errorf("output%s: %d %q", x.query, a.status, a.body)
		}
	}
	for format, want := range map[string]string{"text": "0123456789", "ansi": "0123456789", "json": `{`} {
		a := r.call("GET", path+"/capture?format="+format, nil)
		if a.status != 200 || !strings.Contains(string(a.body), want) || a.header.Get("Middleman-Offset") != "10" {
			t.Errorf("%s: %d %s", format, a.status, a.body)
		}
	}
	if a := r.call("POST", path+"/input", []byte("x")); a.status != 409 || a.problem(t).Code != api.CodeEnded {
		t.Errorf("typing at an ended session: %d %s", a.status, a.body)
	}
}

func TestLargeBodies(t *testing.T) {
	r := newPlace(t).serve(t)
	for _, x := range []struct{ size, status int }{{1<<20 - 30, 422}, {1<<20 + 1, http.StatusRequestEntityTooLarge}} {
		in := map[string]string{"name": strings.Repeat("n", x.size)}
		if a := r.call("POST", "/workspaces", in); a.status != x.status {
			t.Errorf("%d bytes: %d %.200s", x.size, a.status, a.body)
		}
	}
}

func TestNothingOfOursIsShown(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) { o.Version = "v" })
	w := r.workspace("shown", &api.NewSession{})
	var all strings.Builder
	for _, path := range []string{"/workspaces", "/workspaces/" + w.ID, "/sessions", "/sessions/" + w.Sessions[0].ID, "/version", "/health", "/sessions/s0000000000000000"} {
		fmt.Fprintf(&all, "%s\n", r.call("GET", path, nil).body)
	}
	for _, secret := range []string{p.dirs.Runtime, p.dirs.Sessions(), p.dirs.Database(), "owner.json", ".sock"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}
