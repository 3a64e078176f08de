//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
	"middleman/workspace"
)

// lose makes a workspace with work in it and deletes it.
func (r *running) lose(name string) api.Workspace {
	r.t.Helper()
	w := r.workspace(name, nil)
	write(r.t, filepath.Join(w.Root, "precious"), "work")
	if d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil); !d.Restorable {
		r.t.Fatalf("deleted: %+v", d)
	}
	return w
}

func TestRestore(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.lose("w")
	list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces
	if len(list) != 1 || list[0].ID != w.ID || list[0].State != workspace.StateDeleted || list[0].DeletedAt == nil {
		t.Fatalf("deleted: %+v", list)
	}
	restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if restored.Workspace.Name != "w" || restored.Workspace.State != workspace.StateReady || len(restored.Warnings) != 0 {
		t.Errorf("restored: %+v", restored)
	}
	if text, err := os.ReadFile(filepath.Join(w.Root, "precious")); err != nil || string(text) != "work" {
		t.Errorf("file: %q, %v", text, err)
	}
	now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
	if len(now.Stages) == 0 || now.Branch != w.Branch || now.BaseCommit != w.BaseCommit || !now.CreatedAt.Equal(w.CreatedAt) {
		t.Errorf("workspace: %+v", now)
	}
	if s := r.session(now, "cat"); s.State != terminal.StateRunning && s.State != terminal.StateStarting {
		t.Errorf("session: %+v", s)
	}
	if left := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces; len(left) != 0 {
		t.Errorf("deleted still: %+v", left)
	}
}

func TestRestoreRefusals(t *testing.T) {
	r := newPlace(t).serve(t)
	live, gone := r.workspace("live", nil), r.lose("gone")
	taken := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "taken", Mode: workspace.ModeDirectory}).Workspace
	get[api.Workspace](r, "GET", "/workspaces/"+taken.ID+"?wait=60s", nil)
	write(t, filepath.Join(taken.Root, "precious"), "work")
	get[api.Deleted](r, "DELETE", "/workspaces/"+taken.ID+"?discard_work=1", nil)
	write(t, taken.Root, "a file")
	git(t, gone.Repository, "update-ref", "-d", "refs/middleman/trash/"+gone.ID)
	for _, x := range []struct {
		id, code string
		status   int
		detail   string
	}{
		{"wnone", api.CodeNotFound, 404, ""},
		{live.ID, api.CodeNotDeleted, 409, "workspace live is not deleted"},
		{gone.ID, "no-snapshot", 409, "there is no snapshot of it"},
		{taken.ID, "place-taken", 409, "something else is in its place"},
	} {
		a := r.call("POST", "/workspaces/"+x.id+"/restore", nil)
		if p := a.problem(t); a.status != x.status || p.Code != x.code || !strings.Contains(p.Detail, x.detail) || strings.Contains(p.Detail, "\n") {
			t.Errorf("restore %s: %d %s", x.id, a.status, a.body)
		}
	}
	if list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces; len(list) != 2 {
		t.Errorf("deleted: %+v", list)
	}
	// Once what is in the way has left, it can be restored.
	if err := os.Remove(taken.Root); err != nil {
		t.Fatal(err)
	}
	get[api.Restored](r, "POST", "/workspaces/"+taken.ID+"/restore", nil)
}

// The name is free for others after a deletion; a restore says which it got.
func TestRestoreUnderATakenName(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.lose("w")
	other := r.workspace("w", nil)
	restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if restored.Workspace.Name != "w-2" || restored.Workspace.Branch == other.Branch || len(restored.Warnings) != 3 ||
		restored.Workspace.Root != filepath.Join(filepath.Dir(other.Root), "w-2") {
		t.Errorf("restored: %+v", restored)
	}
}

// Of several restores of one workspace, one happens.
func TestRestoreTwiceAtOnce(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.lose("w")
	answers := make([]answer, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = r.call("POST", "/workspaces/"+w.ID+"/restore", nil) })
	}
	all.Wait()
	ok := 0
	for _, a := range answers {
		if a.status == 200 {
			ok++
		} else if p := a.problem(t); p.Code != api.CodeNotDeleted {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if ok != 1 {
		t.Errorf("%d restores", ok)
	}
}

// A server that ends while it restores: the next goes on.
func TestRestoreAfterARestart(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.lose("w")
	if err := r.store.ReviveDeleted(t.Context(), w.ID, "w"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = p.serve(t)
	if now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil); now.State != workspace.StateReady {
		t.Errorf("restored: %+v", now)
	}
	if _, err := os.Stat(filepath.Join(w.Root, "precious")); err != nil {
		t.Error(err)
	}
}
