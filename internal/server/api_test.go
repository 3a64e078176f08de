//go:build linux || darwin

package server_test

import (
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
	write(t, filepath.Join(get[api.Workspace](r, "GET", path+"?wait=60s", nil).Root, "new"), "work")
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
		{"branch that is checked out", "/workspaces", in("a", p.repository, "", "middleman/taken"), 409, api.CodeBranchTaken},
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
		{"unknown profile", sessions, api.NewSession{Profile: "nobody"}, 404, api.CodeNotFound},
		{"profile whose program is not there", sessions, api.NewSession{Profile: "aider"}, 422, api.CodeStartFailed},
		{"profile and command", sessions, api.NewSession{Profile: "shell", Command: []string{"true"}}, 422, api.CodeBadRequest},
		{"prompt for a shell", sessions, api.NewSession{Prompt: "x"}, 422, api.CodeBadRequest},
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
