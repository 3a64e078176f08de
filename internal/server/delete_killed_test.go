//go:build linux || darwin

package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// A process of the user's that stands in a workspace is in the way of a delete.
func TestDeleteNamesWhoIsInside(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("where a process is, only Linux tells")
	}
	r := newPlace(t).serve(t)
	w := r.workspace("stood-in", nil)
	cmd := exec.Command("sleep", "1000")
	cmd.Dir = w.Root
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it is ours
		_ = cmd.Wait()
	}()
	path := "/workspaces/" + w.ID
	if a := r.call("DELETE", path, nil); a.status != 409 || !strings.Contains(a.problem(t).Detail, strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if _, err := os.Stat(w.Root); err != nil {
		t.Fatal(err)
	}
	get[api.Deleted](r, "DELETE", path+"?stop_sessions=1", nil)
}

// A server that was killed in a delete: before that had decided, the workspace
// is as it was; after that it is gone, and what was kept of it can be restored.
func TestStartEndsADelete(t *testing.T) {
	for _, tt := range []struct {
		name, moved string
		gone        bool
	}{
		{"nothing done", "", false},
		{"moved out of reach", ".deleting-", false},
		{"decided", ".trash-", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			r := p.serve(t)
			w := r.workspace("killed", &api.NewSession{Command: []string{"true"}})
			get[api.Waited](r, "GET", "/sessions/"+w.Sessions[0].ID+"/wait?for=exit&timeout=60s", nil)
			write(t, filepath.Join(w.Root, "work"), "work")
			if err := r.store.SetWorkspaceState(t.Context(), w.ID, workspace.StateDeleting, ""); err != nil {
				t.Fatal(err)
			}
			r.stop()
			if tt.moved != "" {
				if err := os.Rename(w.Root, filepath.Join(filepath.Dir(w.Root), tt.moved+w.ID)); err != nil {
					t.Fatal(err)
				}
			}
			r = p.serve(t)
			events := r.events(t, "", "")
			path := "/workspaces/" + w.ID
			for a := r.call("GET", path, nil); a.status == 200 && strings.Contains(string(a.body), `"state":"deleting"`); a = r.call("GET", path, nil) {
				events.until(func(e api.Event) bool { return e.ID == w.ID || e.Workspace != nil && e.Workspace.ID == w.ID })
			}
			a := r.call("GET", path, nil)
			if tt.gone {
				if a.status != 404 {
					t.Errorf("%d %s", a.status, a.body)
				}
				if left, err := os.ReadDir(p.dirs.Workspaces()); err != nil || len(left) != 0 {
					t.Errorf("left: %v, %v", left, err)
				}
				return
			}
			if got := get[api.Workspace](r, "GET", path, nil); got.State != workspace.StateReady || got.Error != "" {
				t.Errorf("%+v", got)
			}
			if _, err := os.Stat(filepath.Join(w.Root, "work")); err != nil {
				t.Error(err)
			}
		})
	}
}
