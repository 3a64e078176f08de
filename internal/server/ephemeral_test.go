//go:build linux

package server_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/lease"
	"middleman/internal/server"
	"middleman/workspace"
)

// lines hands on what is logged.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// ephemeral makes a workspace whose middleman was killed long ago.
func (r *running) ephemeral(name string) api.Workspace {
	r.t.Helper()
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: r.place.repository, Ephemeral: true})
	w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	row, err := r.store.Workspace(r.t.Context(), w.ID)
	if err != nil || !w.Ephemeral || !row.Ephemeral {
		r.t.Fatalf("not ephemeral: %+v, %v", row, err)
	}
	row.CreatedAt = row.CreatedAt.Add(-time.Hour)
	if err := r.store.UpdateWorkspace(r.t.Context(), row); err != nil {
		r.t.Fatal(err)
	}
	return w
}

// What a killed middleman left is deleted at the next start where its program
// has ended beyond doubt and nothing would be lost; all else stays.
func TestEphemeralLeftAtRestart(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	const gone, stays, adopted = "gone", "stays", "an ordinary one"
	cases := []struct {
		name   string
		do     func(w api.Workspace)
		want   string
		logged bool
	}{
		{"clean", func(api.Workspace) {}, gone, true},
		{"ignored", func(w api.Workspace) {
			write(t, filepath.Join(p.repository, ".git/info/exclude"), "*.log\n")
			write(t, filepath.Join(w.Root, "x.log"), "x")
		}, gone, true},
		{"work", func(w api.Workspace) { write(t, filepath.Join(w.Root, "new"), "x") }, adopted, true},
		{"lease", func(w api.Workspace) {
			held, err := lease.Take(p.dirs.Leases(), w.ID)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { held.Close() })
		}, stays, false},
		{"process", func(w api.Workspace) {
			cmd := exec.Command("cat")
			cmd.Dir = w.Root
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { in.Close(); cmd.Wait() })
		}, stays, true},
		{"session", func(w api.Workspace) { r.session(w, "cat") }, stays, true},
		{"young", func(w api.Workspace) {
			row, err := r.store.Workspace(t.Context(), w.ID)
			row.CreatedAt = time.Now()
			if err != nil || r.store.UpdateWorkspace(t.Context(), row) != nil {
				t.Fatal(err)
			}
		}, stays, false},
	}
	made := map[string]api.Workspace{}
	for _, tc := range cases {
		made[tc.name] = r.ephemeral(tc.name)
		tc.do(made[tc.name])
	}
	r.stop()

	said := make(lines, 100)
	r = p.serve(t, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(said, nil)) })
	for _, tc := range cases {
		for tc.logged {
			if line := <-said; strings.Contains(line, "ephemeral workspace") && strings.Contains(line, "workspace="+tc.name) {
				break
			}
		}
		w := made[tc.name]
		a := r.call("GET", "/workspaces/"+w.ID, nil)
		_, err := os.Stat(w.Root)
		got := gone
		if a.status == 200 && err == nil {
			got = stays
			if !strings.Contains(string(a.body), `"ephemeral":true`) {
				got = adopted
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		if _, err := os.Stat(filepath.Join(p.dirs.Leases(), w.ID)); tc.want == gone && err == nil {
			t.Errorf("%s: its lease is left", tc.name)
		}
	}
	refs, err := exec.Command("git", "-C", p.repository, "for-each-ref", "--format=%(refname)").Output()
	if err != nil || strings.Contains(string(refs), "clean") || strings.Contains(string(refs), "trash") {
		t.Errorf("refs: %s, %v", refs, err)
	}
	// What was kept for its work is its user's, and nobody else's, from now on.
	if err := os.Remove(filepath.Join(made["work"].Root, "new")); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = p.serve(t)
	if w := get[api.Workspace](r, "GET", "/workspaces/"+made["work"].ID, nil); w.State != workspace.StateReady {
		t.Errorf("%+v", w)
	}
}
