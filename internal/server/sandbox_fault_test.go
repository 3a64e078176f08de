//go:build faults && linux

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/sandbox"
)

// Wherever a server is killed that deletes a workspace, what its sandbox alone has comes
// back with it, and a private directory that has nothing of its own goes.
func TestFaultDeleteKeepsSandbox(t *testing.T) {
	if _, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil {
		t.Skip(err)
	}
	for _, at := range []string{"delete/moved", "delete/kept", "delete/trashed", "delete/forgotten", "delete/sandbox", "delete/directory", "delete/unrecorded"} {
		for _, held := range []bool{true, false} {
			if !held && at == "delete/kept" {
				continue // nothing is kept
			}
			t.Run(at+map[bool]string{true: " with a commit of the reflog"}[held], func(t *testing.T) {
				t.Parallel()
				testKilledWithSandbox(t, at, held)
			})
		}
	}
}

func testKilledWithSandbox(t *testing.T, at string, held bool) {
	p := newPlace(t)
	git(t, p.repository, "config", "user.name", "n")
	git(t, p.repository, "config", "user.email", "n@example.org")
	r := p.serve(t)
	w := r.workspace("box", nil)
	script := "true"
	if held {
		script = "git commit -q --allow-empty -m lost; git reset -q --hard HEAD~1; git tag own"
	}
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", script}})
	r.until("the program ends", func() bool { return get[api.Session](r, "GET", "/sessions/"+s.ID, nil).State.Ended() })
	r.stop()
	p.killAsking(t, at, "DELETE", "/workspaces/"+w.ID, nil)
	r = p.serve(t)
	if at == "delete/moved" || at == "delete/kept" {
		r.until("it is put back", func() bool { return get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil).State == "ready" })
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	}
	r.until("the delete ends", func() bool { return r.call("GET", "/workspaces/"+w.ID, nil).status == 404 })
	private := p.dirs.Quarantine(w.ID)
	if _, err := os.Lstat(private); (err == nil) != held {
		t.Fatalf("the private directory: %v, want it there %v", err, held)
	}
	if !held {
		return
	}
	restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if b := restored.Workspace.Brought; b == nil || !strings.Contains(strings.Join(b.Kept, " "), "/tags/own") {
		t.Errorf("restored: %+v", b)
	}
	log, err := os.ReadFile(filepath.Join(private, "git", "worktrees", filepath.Base(entryOf(t, w)), "logs", "HEAD"))
	if err != nil || !strings.Contains(string(log), "lost") {
		t.Errorf("the reflog: %q, %v", log, err)
	}
}

// entryOf returns git's directory for the worktree of w.
func entryOf(t *testing.T, w api.Workspace) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Root, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
}
