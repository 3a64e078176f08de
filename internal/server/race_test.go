//go:build linux || darwin

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// atOnce runs do n times at once.
func atOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			do(i)
		})
	}
	close(begin)
	all.Wait()
}

// settled waits until no workspace is being made or restored, and checks that
// there is a directory, a branch and an entry of git's for each workspace and
// for nothing else, and that the repository is whole.
func (r *running) settled() []api.Workspace {
	r.t.Helper()
	var rows []api.Workspace
	var directories, branches, entries []string
	for _, w := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
		w = get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
		if w.State != workspace.StateReady {
			r.t.Errorf("workspace %s is %s: %s", w.Name, w.State, w.Error)
		}
		rows = append(rows, w)
		directories, entries, branches = append(directories, filepath.Base(w.Root)), append(entries, w.ID), append(branches, w.Branch)
	}
	for _, x := range []struct {
		what      string
		want, got []string
	}{
		{"directories", directories, names(r.t, filepath.Join(r.place.dirs.Workspaces(), filepath.Base(r.place.repository)))},
		{"entries", entries, names(r.t, filepath.Join(r.place.repository, ".git/worktrees"))},
		{"branches", branches, strings.Fields(r.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/middleman"))},
	} {
		slices.Sort(x.want)
		slices.Sort(x.got)
		if !slices.Equal(x.want, x.got) {
			r.t.Errorf("%s %q, want %q", x.what, x.got, x.want)
		}
	}
	if said := r.git("fsck", "--no-dangling", "--no-progress"); said != "" {
		r.t.Errorf("fsck: %s", said)
	}
	return rows
}

// names are the entries of a directory that need not be there.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func (r *running) git(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.place.repository}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// new asks for a workspace; it may be refused.
func (r *running) new(name string) answer {
	return r.call("POST", "/workspaces", api.NewWorkspace{Name: name, Directory: r.place.repository})
}

// refusedAs checks that an answer is a refusal with one of codes.
func refusedAs(t *testing.T, what string, a answer, codes ...string) {
	t.Helper()
	if a.status < 400 || !slices.Contains(codes, a.problem(t).Code) {
		t.Errorf("%s: status %d: %s", what, a.status, a.body)
	}
}

// Of sixteen who ask for one name one gets it, and the others are told; of
// sixteen who leave the name to us each gets one, and a branch of its own.
func TestRaceOfCreations(t *testing.T) {
	r := newPlace(t).serve(t)
	var mu sync.Mutex
	won := 0
	atOnce(16, func(i int) {
		a := r.new("same")
		if a.status < 300 {
			mu.Lock()
			defer mu.Unlock()
			won++
			return
		}
		refusedAs(t, "create", a, api.CodeNameTaken)
	})
	if won != 1 {
		t.Errorf("%d got the name", won)
	}
	atOnce(16, func(int) {
		if a := r.new(""); a.status >= 300 {
			t.Errorf("without a name: %d: %s", a.status, a.body)
		}
	})
	if rows := r.settled(); len(rows) != 17 {
		t.Errorf("%d workspaces", len(rows))
	}
}

// Deletions against creations of one name: each does what it says, or is
// refused in words, and nothing is left.
func TestRaceOfDeletionsAndCreations(t *testing.T) {
	r := newPlace(t).serve(t)
	atOnce(6, func(int) {
		for range 5 {
			if a := r.new("same"); a.status >= 300 {
				refusedAs(t, "create", a, api.CodeNameTaken)
			}
			for _, w := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
				if a := r.call("DELETE", "/workspaces/"+w.ID, nil); a.status >= 300 {
					refusedAs(t, "delete", a, api.CodeNotFound, "busy")
				}
			}
		}
	})
	r.settled()
}

// Deletions against starts of sessions: a session runs in a workspace that is
// there, or neither does.
func TestRaceOfDeletionsAndSessions(t *testing.T) {
	r := newPlace(t).serve(t)
	for round := range 3 {
		w := r.workspace(fmt.Sprint("w", round), nil)
		var mu sync.Mutex
		started, deleted := 0, 0
		atOnce(12, func(i int) {
			var a answer
			if i%2 == 0 {
				a = r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}})
			} else {
				a = r.call("DELETE", "/workspaces/"+w.ID, nil)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status >= 300 && i%2 == 0:
				refusedAs(t, "start", a, api.CodeNotFound, "busy")
			case a.status >= 300:
				refusedAs(t, "delete", a, api.CodeNotFound, api.CodeSessionsRun)
			case i%2 == 0:
				started++
			default:
				deleted++
			}
		})
		if deleted > 1 || deleted == 1 && started > 0 || deleted == 0 && started == 0 {
			t.Errorf("%d started, %d deleted", started, deleted)
		}
		if a := r.call("GET", "/workspaces/"+w.ID, nil); (a.status == http.StatusOK) != (started > 0) {
			t.Errorf("%d started, and then: %d: %s", started, a.status, a.body)
		}
	}
	rows := r.settled()
	for _, w := range rows {
		if a := r.call("DELETE", "/workspaces/"+w.ID+"?stop_sessions=1", nil); a.status != http.StatusOK {
			t.Errorf("delete: %d: %s", a.status, a.body)
		}
	}
	r.settled()
}

// Prunes against creations and deletions take nothing of anybody's.
func TestRaceOfPrunesAndCreations(t *testing.T) {
	r := newPlace(t).serve(t)
	atOnce(6, func(i int) {
		for round := range 4 {
			if i < 2 {
				out := get[api.Leftovers](r, "POST", "/prune", nil)
				for _, l := range out.Leftovers {
					if l.Pruned && l.Kind != workspace.LeftoverTrash {
						t.Errorf("pruned: %+v", l)
					}
				}
				continue
			}
			w := r.workspace(fmt.Sprintf("w%d-%d", i, round), nil)
			write(t, filepath.Join(w.Root, "precious"), "work")
			if round%2 == 0 {
				get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
				get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
			}
		}
	})
	rows := r.settled()
	for _, w := range rows {
		if content, err := os.ReadFile(filepath.Join(w.Root, "precious")); err != nil || string(content) != "work" {
			t.Errorf("%s: %q, %v", w.Name, content, err)
		}
	}
	if len(rows) != 16 {
		t.Errorf("%d workspaces", len(rows))
	}
}

// Restores of one workspace against creations of its name: it comes back once,
// with what was in it, under its name or with a number.
func TestRaceOfRestoresAndCreations(t *testing.T) {
	r := newPlace(t).serve(t)
	for round := range 3 {
		name := fmt.Sprint("w", round)
		w := r.workspace(name, nil)
		write(t, filepath.Join(w.Root, "precious"), "work")
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
		var mu sync.Mutex
		restored := 0
		atOnce(12, func(i int) {
			if i%2 == 0 {
				if a := r.new(name); a.status >= 300 {
					refusedAs(t, "create", a, api.CodeNameTaken)
				}
				return
			}
			a := r.call("POST", "/workspaces/"+w.ID+"/restore", nil)
			if a.status >= 300 {
				refusedAs(t, "restore", a, api.CodeNotDeleted, api.CodeNotFound)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			restored++
		})
		// A creation that is refused may hold the place for a moment.
		now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
		if content, err := os.ReadFile(filepath.Join(now.Root, "precious")); restored != 1 || err != nil || string(content) != "work" {
			t.Errorf("restored %d times: %q, %v", restored, content, err)
		}
		r.settled()
	}
}
