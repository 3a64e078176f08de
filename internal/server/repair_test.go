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

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// One workspace that is repaired brings all of its repository with it.
func TestRepairAMovedRepository(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	a, b, lost := r.workspace("a", nil), r.workspace("b", nil), r.lose("lost")
	moved := p.repository + ".moved"
	move(t, p.repository, moved)
	for _, w := range []api.Workspace{a, b} {
		now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
		if !strings.Contains(now.Problem, "its repository "+p.repository+" is gone: middleman repair "+w.Name) {
			t.Errorf("problem %q", now.Problem)
		}
	}
	r.expect("", "stays moved a", "stays moved b", "stays deleted lost")
	if f := r.call("POST", "/repair", api.Repair{Workspace: a.ID}); f.status != 409 || f.problem(t).Code != "moved" {
		t.Errorf("not told: %d %s", f.status, f.body)
	}
	told := api.Repair{Workspace: a.ID, Repository: moved}
	dry := get[api.Repaired](r, "POST", "/repair?dry_run=1", told)
	if len(dry.Found) != 3 || len(dry.Failed) != 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if now := get[api.Workspace](r, "GET", "/workspaces/"+a.ID, nil); now.Problem == "" {
		t.Error("a dry run repaired")
	}
	if got := get[api.Repaired](r, "POST", "/repair", told); len(got.Found) != 3 || len(got.Workspaces) != 2 || len(got.Failed) != 0 {
		t.Errorf("repaired: %+v", got)
	}
	for _, w := range []api.Workspace{a, b} {
		now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
		if now.Problem != "" || now.Repository != moved {
			t.Errorf("repaired: %+v", now)
		}
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	}
	get[api.Restored](r, "POST", "/workspaces/"+lost.ID+"/restore", nil)
	if _, err := os.Stat(filepath.Join(lost.Root, "precious")); err != nil {
		t.Error(err)
	}
	r.expect("")
	if again := get[api.Repaired](r, "POST", "/repair", api.Repair{}); len(again.Found)+len(again.Failed) != 0 {
		t.Errorf("again: %+v", again)
	}
}

// A data directory that was moved is found again, with what was deleted.
func TestRepairAMovedDataDirectory(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w, lost := r.workspace("w", nil), r.lose("lost")
	notes := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "notes", Mode: workspace.ModeDirectory}).Workspace
	r.stop()
	moved := p.dirs.Data + ".moved"
	move(t, p.dirs.Data, moved)
	p.dirs.Data = moved
	r = p.serve(t)
	root := filepath.Join(p.dirs.Workspaces(), filepath.Base(p.repository), "w")
	r.expect("", "stays moved w", "stays moved notes", "stays deleted lost")
	got := get[api.Repaired](r, "POST", "/repair", api.Repair{})
	if len(got.Workspaces) != 2 || len(got.Failed) != 0 {
		t.Errorf("repaired: %+v", got)
	}
	if now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil); now.Root != root || now.Problem != "" {
		t.Errorf("repaired: %+v", now)
	}
	get[api.Restored](r, "POST", "/workspaces/"+lost.ID+"/restore", nil)
	if _, err := os.Stat(filepath.Join(filepath.Dir(root), "lost", "precious")); err != nil {
		t.Error(err)
	}
	for _, id := range []string{w.ID, notes.ID, lost.ID} {
		get[api.Deleted](r, "DELETE", "/workspaces/"+id+"?discard_work=1", nil)
	}
	if left, err := os.ReadDir(p.dirs.Workspaces()); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
