//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// failing makes the checkouts of r's repository fail, until it is called off.
func (r *running) failing() (heal func()) {
	r.t.Helper()
	repo := r.place.repository
	write(r.t, filepath.Join(repo, ".gitattributes"), "bad filter=bad\n")
	write(r.t, filepath.Join(repo, "bad"), "content\n")
	git(r.t, repo, "add", ".")
	git(r.t, repo, "commit", "-q", "-m", "bad")
	git(r.t, repo, "config", "filter.bad.smudge", "false")
	git(r.t, repo, "config", "filter.bad.clean", "cat")
	git(r.t, repo, "config", "filter.bad.required", "true")
	return func() { git(r.t, repo, "config", "filter.bad.smudge", "cat") }
}

// half makes a workspace whose creation fails.
func (r *running) half(name string, first *api.NewSession) api.Workspace {
	r.t.Helper()
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{
		Name: name, Directory: r.place.repository, Filters: true, Session: first,
	})
	w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	if w.State != workspace.StateFailed || !strings.Contains(w.Error, "filter bad failed") || w.Root == "" {
		r.t.Fatalf("workspace: %+v", w)
	}
	return w
}

// A creation that failed goes on where it failed: what is there stays, and the
// first session is started, once.
func TestRetry(t *testing.T) {
	r := newPlace(t).serve(t)
	heal := r.failing()
	w := r.half("w", &api.NewSession{Command: []string{"cat"}})
	if len(w.Sessions) != 0 {
		t.Errorf("sessions: %+v", w.Sessions)
	}
	write(t, filepath.Join(w.Root, "mine"), "work")
	write(t, filepath.Join(w.Root, "bad"), "mine too")
	heal()
	get[api.Created](r, "POST", "/workspaces/"+w.ID+"/retry", nil)
	now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
	if now.State != workspace.StateReady || now.Error != "" || len(now.Sessions) != 1 || now.Branch != w.Branch {
		t.Fatalf("after the retry: %+v", now)
	}
	for name, want := range map[string]string{"mine": "work", "bad": "mine too", "file": "content\n"} {
		if text, err := os.ReadFile(filepath.Join(w.Root, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if a := r.call("POST", "/workspaces/"+w.ID+"/retry", nil); a.problem(t).Code != api.CodeNotFailed {
		t.Errorf("a second retry: %d %s", a.status, a.body)
	}
}

func TestRetryRefusals(t *testing.T) {
	r := newPlace(t).serve(t)
	ready := r.workspace("ready", nil)
	deleting := r.workspace("deleting", nil)
	if err := r.store.SetWorkspaceState(t.Context(), deleting.ID, workspace.StateFailed, "its deletion failed"); err != nil {
		t.Fatal(err)
	}
	busy := r.workspace("busy", nil)
	if err := r.store.SetWorkspaceState(t.Context(), busy.ID, workspace.StateCreating, ""); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		id, code string
		status   int
		detail   string
	}{
		{"wnone", api.CodeNotFound, 404, ""},
		{ready.ID, api.CodeNotFailed, 409, "workspace ready is ready: there is nothing to try again"},
		{deleting.ID, api.CodeNotFailed, 409, "its deletion failed"},
		{busy.ID, "busy", 409, "workspace busy is creating"},
	} {
		a := r.call("POST", "/workspaces/"+x.id+"/retry", nil)
		if p := a.problem(t); a.status != x.status || p.Code != x.code || !strings.Contains(p.Detail, x.detail) || strings.Contains(p.Detail, "\n") {
			t.Errorf("retry %s: %d %s", x.id, a.status, a.body)
		}
	}
}

// One that is given up is deleted like others: what git alone wrote is no work.
func TestDeleteAFailedCreation(t *testing.T) {
	r := newPlace(t).serve(t)
	r.failing()
	w, worked := r.half("w", nil), r.half("worked", nil)
	write(t, filepath.Join(worked.Root, "mine"), "work")
	if d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil); !d.Lost.Empty() {
		t.Errorf("deleted: %+v", d)
	}
	if _, err := os.Lstat(w.Root); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
	a := r.call("DELETE", "/workspaces/"+worked.ID, nil)
	if p := a.problem(t); p.Code != api.CodeWorkWouldLose || p.Lost == nil || len(p.Lost.Untracked) != 1 || len(p.Lost.Changed) != 0 {
		t.Errorf("with work: %d %s", a.status, a.body)
	}
}

// A server that ended while it made a workspace that has its place: the next
// goes on to the end.
func TestRestartFinishesACreation(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	heal := r.failing()
	w := r.half("w", &api.NewSession{Command: []string{"cat"}})
	if err := r.store.SetWorkspaceState(t.Context(), w.ID, workspace.StateCreating, ""); err != nil {
		t.Fatal(err)
	}
	r.stop()
	heal()
	r = p.serve(t)
	now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
	if now.State != workspace.StateReady || len(now.Sessions) != 1 {
		t.Errorf("after the restart: %+v", now)
	}
	if text, err := os.ReadFile(filepath.Join(w.Root, "bad")); err != nil || string(text) != "content\n" {
		t.Errorf("file: %q, %v", text, err)
	}
}
