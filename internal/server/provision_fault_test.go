//go:build faults && linux

package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// withMark are the processes that a setup of a workspace has started.
func withMark(t *testing.T, id string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		environ, _ := os.ReadFile(file) // gone, or not ours
		if bytes.Contains(environ, []byte("MIDDLEMAN_SETUP="+id+"\x00")) {
			found = append(found, file)
		}
	}
	return found
}

// A server that is killed while it gives a workspace its files, or sets it up,
// leaves no process behind; the next one finishes that, or a retry does.
func TestFaultProvisionKilled(t *testing.T) {
	for _, at := range []string{"copy/written", "copy/placed", "setup/started"} {
		t.Run(at, func(t *testing.T) {
			p := newPlace(t)
			goOn := filepath.Join(filepath.Dir(p.dirs.Data), "go-on")
			write(t, filepath.Join(p.repository, ".gitignore"), ".env\nset-up\n")
			write(t, filepath.Join(p.repository, ".env"), "SECRET=1\n")
			write(t, filepath.Join(p.repository, ".worktreeinclude"), ".env\n")
			hash := p.configure(t, "setup = [\"cat .env >set-up; test -e '"+goOn+"' || setsid sleep 1000\"]\n")
			r := p.serve(t)
			get[api.Approved](r, "POST", "/trust", api.ApproveIn{Directory: p.repository, Hash: hash})
			r.stop()
			p.killServer(t, at)
			write(t, goOn, "")

			r = p.serve(t)
			list := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces
			if len(list) != 1 {
				t.Fatalf("%d workspaces", len(list))
			}
			w := get[api.Workspace](r, "GET", "/workspaces/"+list[0].ID+"?wait=60s", nil)
			if at == "setup/started" { // it is not known how it ended, and nothing is run twice unasked
				if w.State != workspace.StateFailed {
					t.Fatalf("it is %s", w.State)
				}
				if a := r.call("POST", "/workspaces/"+w.ID+"/retry", nil); a.status >= 300 {
					t.Fatalf("%d %s", a.status, a.body)
				}
				w = get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
			}
			if w.State != workspace.StateReady {
				t.Fatalf("%s: %s", w.State, w.Error)
			}
			for _, name := range []string{".env", "set-up"} {
				if text, err := os.ReadFile(filepath.Join(w.Root, name)); err != nil || string(text) != "SECRET=1\n" {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			}
			if left := withMark(t, w.ID); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if entries, err := filepath.Glob(filepath.Join(w.Root, ".middleman-copy-*")); err != nil || len(entries) > 0 {
				t.Errorf("left in the worktree: %v, %v", entries, err)
			}
			get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?stop_sessions=1", nil)
		})
	}
}
