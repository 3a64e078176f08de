//go:build linux || darwin

package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
	"middleman/workspace"
)

func TestDeleteRefusesWhatWouldBeLost(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("precious", &api.NewSession{Command: []string{"cat"}})
	write(t, filepath.Join(w.Root, "untracked"), "work")
	write(t, filepath.Join(w.Root, "file"), "changed")
	path := "/workspaces/" + w.ID

	for _, x := range []struct {
		query         string
		code          string
		lost, running bool
	}{
		{"", api.CodeWorkWouldLose, true, true},
		{"?discard_work=1", api.CodeSessionsRun, false, true},
		{"?stop_sessions=1", api.CodeWorkWouldLose, true, false},
		{"?skip_teardown=1", api.CodeWorkWouldLose, true, true},
	} {
		a := r.call("DELETE", path+x.query, nil)
		p := a.problem(t)
		if a.status != 409 || p.Code != x.code || (p.Lost != nil) != x.lost || (len(p.Sessions) == 1) != x.running {
			t.Errorf("delete%s: %d %s", x.query, a.status, a.body)
		}
		if x.lost && (!slices.Equal(p.Lost.Untracked, []string{"untracked"}) || !slices.Equal(p.Lost.Changed, []string{"file"})) {
			t.Errorf("lost: %+v", p.Lost)
		}
	}
	dry := get[api.Deleted](r, "DELETE", path+"?dry_run=1", nil)
	if len(dry.Stopped) != 1 || dry.Lost.Empty() {
		t.Errorf("dry run: %+v", dry)
	}
	// Refused is unblocked: all is as it was, and a session can be started.
	now := get[api.Workspace](r, "GET", path, nil)
	if now.State != workspace.StateReady || now.Sessions[0].State != terminal.StateRunning {
		t.Errorf("after refusals: %+v", now)
	}
	ended := r.session(w, "true")

	deleted := get[api.Deleted](r, "DELETE", path+"?discard_work=1&stop_sessions=1", nil)
	if deleted.Lost.Empty() || len(deleted.Stopped) == 0 || !deleted.Restorable {
		t.Errorf("deleted: %+v", deleted)
	}
	if _, err := os.Stat(w.Root); !os.IsNotExist(err) {
		t.Errorf("directory: %v", err)
	}
	if a := r.call("GET", path, nil); a.status != 404 {
		t.Errorf("%s: status %d", path, a.status)
	}
	for _, id := range []string{w.Sessions[0].ID, ended.ID} { // what they have printed stays
		if s := get[api.Session](r, "GET", "/sessions/"+id, nil); !s.State.Ended() || s.DeletedAt == nil {
			t.Errorf("session: %+v", s)
		}
	}
	r.workspace("precious", nil) // the name is free again
}

// Where git cannot tell what would be lost, a deletion is refused, and goes on
// with consent to lose whatever it is.
func TestDeleteWhereTheRepositoryIsGone(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("orphan", nil)
	if err := os.Rename(w.Repository, w.Repository+".moved"); err != nil {
		t.Fatal(err)
	}
	path := "/workspaces/" + w.ID
	for _, query := range []string{"", "?dry_run=1", "?stop_sessions=1", "?dry_run=1&discard_work=1"} {
		if a := r.call("DELETE", path+query, nil); a.status < 400 {
			t.Errorf("delete%s: %d %s", query, a.status, a.body)
		}
		if _, err := os.Stat(w.Root); err != nil {
			t.Fatal(err)
		}
	}
	get[api.Deleted](r, "DELETE", path+"?discard_work=1", nil)
	if _, err := os.Stat(w.Root); !os.IsNotExist(err) {
		t.Errorf("directory: %v", err)
	}
}

func TestDeleteOfAnInPlaceWorkspaceKeepsTheDirectory(t *testing.T) {
	r := newPlace(t).serve(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine"), "mine")
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "here", Mode: workspace.ModeInPlace, Directory: dir})
	get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	get[api.Deleted](r, "DELETE", "/workspaces/"+created.Workspace.ID+"?discard_work=1&stop_sessions=1", nil)
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}

// A session either starts before the look of a deletion, and the deletion is
// refused, or it is not started.
func TestDeleteAgainstLaunches(t *testing.T) {
	r := newPlace(t).serve(t)
	for range 5 {
		w := r.workspace("", nil)
		var started, deleted answer
		var both sync.WaitGroup
		both.Go(func() {
			started = r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}})
		})
		both.Go(func() { deleted = r.call("DELETE", "/workspaces/"+w.ID, nil) })
		both.Wait()
		if ok := started.status == 201; ok == (deleted.status == 200) {
			t.Fatalf("start: %d %s\ndelete: %d %s", started.status, started.body, deleted.status, deleted.body)
		}
	}
}

// A job that outlives its session's program makes the workspace busy.
func TestDeleteNamesWhatAnEndedSessionLeft(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("busy", nil)
	ended := r.session(w, "sh", "-c", `trap "" HUP; sleep 1000 >/dev/null 2>&1 & exit 0`)
	get[api.Waited](r, "GET", "/sessions/"+ended.ID+"/wait?for=exit&timeout=60s", nil)
	path := "/workspaces/" + w.ID
	a := r.call("DELETE", path, nil)
	if p := a.problem(t); a.status != 409 || p.Code != api.CodeSessionsRun || len(p.Sessions) != 1 || len(p.Sessions[0].Left) != 1 {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	left := get[api.Deleted](r, "DELETE", path+"?stop_sessions=1", nil).Stopped[0].Left[0]
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", left)); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %d is there: %s", left, stat)
	}
}

// A directory that something else has replaced is refused with every consent, before a
// session is stopped for it.
func TestDeleteOfAReplacedDirectoryStopsNothing(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("replaced", nil)
	s := r.session(w, "cat")
	aside := w.Root + "-aside"
	if err := errors.Join(os.Rename(w.Root, aside), os.Symlink(aside, w.Root)); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, "delete", r.call("DELETE", "/workspaces/"+w.ID+"?discard_work=1&stop_sessions=1", nil), api.CodeReplaced)
	if now := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); now.State != terminal.StateRunning {
		t.Errorf("the session is %s", now.State)
	}
}
