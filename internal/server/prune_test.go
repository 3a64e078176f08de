//go:build linux || darwin

package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
	"middleman/workspace"
)

// leftovers are what prune says, a line each: gone, would (go), stays or failed.
func (r *running) leftovers(query string) []string {
	r.t.Helper()
	lines := []string{}
	for _, l := range get[api.Leftovers](r, "POST", "/prune"+query, nil).Leftovers {
		state := "stays"
		switch {
		case l.Pruned:
			state = "gone"
		case l.Error != "":
			state = "failed (" + l.Error + ")"
		case l.Prunable:
			state = "would"
		}
		if l.Why == "" {
			r.t.Errorf("no reason: %+v", l)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", state, l.Kind, filepath.Base(l.What)))
	}
	slices.Sort(lines)
	return lines
}

func (r *running) expect(query string, want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if got := r.leftovers(query); !slices.Equal(got, want) {
		r.t.Errorf("prune%s: %q, want %q", query, got, want)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestPruneRows(t *testing.T) {
	r := newPlace(t).serve(t)
	r.expect("")
	live, clean, dirty, busy := r.workspace("live", nil), r.workspace("clean", nil), r.workspace("dirty", nil), r.workspace("busy", nil)
	write(t, filepath.Join(dirty.Root, "staged"), "work")
	git(t, dirty.Root, "add", "staged")
	s := r.session(busy, "sleep", "1000")
	now := time.Now().UTC()
	for _, x := range []workspace.Workspace{
		{ID: terminal.NewID("w"), Name: "failed", Mode: workspace.ModeWorktree, State: workspace.StateFailed, Error: "why", CreatedAt: now},
		{ID: terminal.NewID("w"), Name: "half", Mode: workspace.ModeWorktree, State: workspace.StateCreating, CreatedAt: now},
	} {
		if err := r.store.CreateWorkspace(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	// What nobody has told git to forget may be on a disk that is away.
	away := r.workspace("away", nil)
	git(t, r.place.repository, "worktree", "remove", "-f", "-f", clean.Root)
	for _, w := range []api.Workspace{away, dirty, busy} {
		remove(t, w.Root)
	}
	stay := []string{"stays missing dirty", "stays missing busy", "stays missing away"}
	r.expect("?dry_run=1", append(stay, "would missing clean", "would failed failed")...)
	r.expect("?dry_run=1", append(stay, "would missing clean", "would failed failed")...)
	r.expect("", append(stay, "gone missing clean", "gone failed failed")...)
	r.expect("", stay...)
	for _, x := range []struct {
		id     string
		status int
	}{{live.ID, 200}, {away.ID, 200}, {clean.ID, 404}, {dirty.ID, 200}, {busy.ID, 200}} {
		if a := r.call("GET", "/workspaces/"+x.id, nil); a.status != x.status {
			t.Errorf("%s: %d", x.id, a.status)
		}
	}
	if a := r.call("GET", "/sessions/"+s.ID, nil); !strings.Contains(string(a.body), "running") {
		t.Errorf("session: %s", a.body)
	}
	git(t, r.place.repository, "rev-parse", "--verify", "middleman/dirty")
}

// All directories gone at once means a disk that is not there; a base that is
// gone says nothing of what is in it.
func TestPruneWithTheBaseGone(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	r.workspace("a", nil)
	r.workspace("b", nil)
	base := p.dirs.Workspaces()
	if err := os.Rename(base, base+".away"); err != nil {
		t.Fatal(err)
	}
	r.expect("", "stays unknown a", "stays unknown b")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	r.expect("", "stays missing a", "stays missing b")
}

func TestPruneDeleted(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	kept, lost, moved := r.lose("kept"), r.lose("lost"), r.lose("old")
	git(t, p.repository, "update-ref", "-d", "refs/middleman/trash/"+lost.ID)
	r.expect("?dry_run=1", "would deleted lost")
	r.expect("?snapshots=1h", "gone deleted lost")
	if err := os.Rename(p.repository, p.repository+".moved"); err != nil {
		t.Fatal(err)
	}
	r.expect("?snapshots=1ns", "stays deleted kept", "stays deleted old")
	if err := os.Rename(p.repository+".moved", p.repository); err != nil {
		t.Fatal(err)
	}
	get[api.Restored](r, "POST", "/workspaces/"+moved.ID+"/restore", nil)
	r.expect("?snapshots=1ns&dry_run=1", "would deleted kept")
	r.expect("?snapshots=1ns", "gone deleted kept")
	if a := r.call("POST", "/workspaces/"+kept.ID+"/restore", nil); a.status != 404 {
		t.Errorf("restore: %d %s", a.status, a.body)
	}
	if a := r.call("POST", "/prune?snapshots=soon", nil); a.status != 422 {
		t.Errorf("a bad age: %d %s", a.status, a.body)
	}
}

// A session whose workspace is gone goes when it has ended.
func TestPruneSessions(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	runs, ended := r.session(w, "cat"), r.session(w, "true")
	get[api.Waited](r, "GET", "/sessions/"+ended.ID+"/wait?for=exit&timeout=60s", nil)
	if err := r.store.DeleteWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	r.expect("", "stays directory w", "stays session "+runs.ID, "stays session "+ended.ID)
	move(t, w.Root, r.place.repository+".away")
	git(t, r.place.repository, "worktree", "remove", "-f", "-f", w.Root)
	r.expect("", "stays session "+runs.ID, "gone session "+ended.ID)
	if ids, err := r.place.backend.List(t.Context()); err != nil || !slices.Equal(ids, []string{runs.ID}) {
		t.Errorf("sessions: %v, %v", ids, err)
	}
}

// What a prune keeps of what it removes can be restored.
func TestPruneKeepsIgnoredFiles(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	write(t, filepath.Join(r.place.repository, ".git", "info", "exclude"), ".env\n")
	write(t, filepath.Join(w.Root, ".env"), "SECRET=1")
	if err := r.store.DeleteWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	r.expect("", "gone directory w")
	restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if text, err := os.ReadFile(filepath.Join(w.Root, ".env")); err != nil || string(text) != "SECRET=1" || restored.Workspace.Name != "w" {
		t.Errorf("restored: %+v, %q, %v", restored, text, err)
	}
}

// Prunes that run while workspaces are made, restored and deleted touch none.
func TestPruneAgainstCreates(t *testing.T) {
	r := newPlace(t).serve(t)
	lost := r.lose("lost")
	stop := make(chan struct{})
	var pruning, making sync.WaitGroup
	for range 2 {
		pruning.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a := r.call("POST", "/prune", nil)
				if a.status != 200 || strings.Contains(string(a.body), `"pruned":true`) {
					t.Errorf("prune: %d %s", a.status, a.body)
				}
			}
		})
	}
	made := make([]answer, 16)
	for i := range made {
		making.Go(func() {
			made[i] = r.call("POST", "/workspaces", api.NewWorkspace{Name: fmt.Sprintf("w%d", i), Directory: r.place.repository})
		})
	}
	making.Go(func() {
		if a := r.call("POST", "/workspaces/"+lost.ID+"/restore", nil); a.status != 200 {
			t.Errorf("restore: %d %s", a.status, a.body)
		}
	})
	making.Wait()
	for _, w := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
		now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
		if now.State != workspace.StateReady {
			t.Errorf("%s is %s: %s", now.Name, now.State, now.Error)
		}
		if _, err := os.Stat(filepath.Join(now.Root, "file")); err != nil {
			t.Error(err)
		}
		making.Go(func() {
			if a := r.call("DELETE", "/workspaces/"+now.ID+"?discard_work=1", nil); a.status != 200 {
				t.Errorf("delete: %d %s", a.status, a.body)
			}
		})
	}
	making.Wait()
	close(stop)
	pruning.Wait()
	for _, a := range made {
		if a.status != 202 {
			t.Errorf("create: %d %s", a.status, a.body)
		}
	}
	r.expect("")
}
