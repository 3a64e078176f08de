//go:build linux || darwin

package server_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/terminal"
	"middleman/workspace"
)

// Without its database a server finds workspaces, sessions and what can be
// restored again; what it deletes then is as it was.
func TestTheDatabaseIsLost(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	lost := r.lose("lost")
	notes := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "notes", Mode: workspace.ModeDirectory}).Workspace
	write(t, filepath.Join(w.Root, "precious"), "work")
	r.stop()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		remove(t, p.dirs.Database()+suffix)
	}

	r = p.serve(t)
	r.until("the session has a row", func() bool {
		row, err := r.store.Session(t.Context(), w.Sessions[0].ID)
		return err == nil && row.State == terminal.StateRunning && row.WorkspaceID == w.ID
	})
	now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
	if now.Name != "w" || now.Mode != workspace.ModeWorktree || now.Branch != w.Branch || now.BaseCommit != w.BaseCommit ||
		now.Root != w.Root || now.Repository != w.Repository || now.State != workspace.StateReady || len(now.Sessions) != 1 {
		t.Errorf("found again: %+v\nwas %+v", now, w)
	}
	if got := get[api.Workspace](r, "GET", "/workspaces/"+notes.ID, nil); got.Mode != workspace.ModeDirectory || got.Root != notes.Root {
		t.Errorf("found again: %+v", got)
	}
	r.until("what was deleted has a row", func() bool {
		_, err := r.store.DeletedWorkspace(t.Context(), lost.ID)
		return err == nil
	})
	restored := get[api.Restored](r, "POST", "/workspaces/"+lost.ID+"/restore", nil)
	if _, err := os.Stat(filepath.Join(lost.Root, "precious")); err != nil || restored.Workspace.Name != "lost" || restored.Workspace.Branch != lost.Branch {
		t.Errorf("restored: %+v, %v", restored, err)
	}
	if a := r.call("DELETE", "/workspaces/"+w.ID+"?stop_sessions=1", nil); a.status != 409 || a.problem(t).Code != api.CodeWorkWouldLose {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?stop_sessions=1&discard_work=1", nil)
	r.expect("")
}

// heldList is a backend whose sessions are listed once, while workspaces are
// found again, and then not before release.
type heldList struct {
	terminal.Backend
	calls   *atomic.Int32
	release chan struct{}
}

func (b heldList) List(ctx context.Context) ([]string, error) {
	if b.calls.Add(1) > 1 {
		<-b.release
	}
	return b.Backend.List(ctx)
}

// Without its database a server finds workspaces before it has found sessions:
// a delete waits for all of them.
func TestADeleteWaitsForSessionsWithoutARow(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	s := r.session(w, "sh", "-c", "cd /; exec cat")
	r.stop()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		remove(t, p.dirs.Database()+suffix)
	}
	held := heldList{p.backend, new(atomic.Int32), make(chan struct{})}
	release := sync.OnceFunc(func() { close(held.release) })
	defer release()
	r = p.serve(t, func(o *server.Options) { o.Backends = []terminal.Backend{held} })
	r.until("the workspace has a row", func() bool {
		_, err := r.store.Workspace(t.Context(), w.ID)
		return err == nil
	})
	deleted := make(chan answer, 1)
	go func() { deleted <- r.call("DELETE", "/workspaces/"+w.ID, nil) }()
	select {
	case a := <-deleted:
		t.Errorf("a delete did not wait: %d %s", a.status, a.body)
		release()
	case <-time.After(time.Second): // long enough for one that does not wait
		release()
		if a := <-deleted; a.status != 409 || a.problem(t).Code != api.CodeSessionsRun {
			t.Errorf("delete: %d %s", a.status, a.body)
		}
	}
	if got := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); got.State != terminal.StateRunning {
		t.Errorf("session: %+v", got)
	}
}

// A session without a row, whose workspace nobody knows, can be stopped by its
// id and then removed.
func TestStopWithoutARow(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t)
		w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
		id := w.Sessions[0].ID
		r.stop()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			remove(t, p.dirs.Database()+suffix)
		}
		move(t, p.dirs.Workspaces(), p.dirs.Workspaces()+".away")
		r = p.serve(t)
		if got := get[api.Session](r, "DELETE", "/sessions/"+id+"?grace=0s", nil); got.ID != id || !got.State.Ended() {
			t.Errorf("stopped: %+v", got)
		}
		get[api.Session](r, "DELETE", "/sessions/"+id, nil)
		if a := r.call("DELETE", "/sessions/"+id, nil); a.status != 404 {
			t.Errorf("removed twice: %d %s", a.status, a.body)
		}
		if ids, err := p.backend.List(t.Context()); err != nil || len(ids) != 0 {
			t.Errorf("left: %v, %v", ids, err)
		}
	})
}

func TestImport(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	tree := p.repository + ".feature"
	git(t, p.repository, "worktree", "add", "-q", "-b", "feature/login", tree)
	for range 2 {
		dry := get[api.Imported](r, "POST", "/import?dry_run=1", api.Import{Directory: p.repository})
		if len(dry.Workspaces) != 1 || dry.Workspaces[0].Name != "feature-login" || dry.Workspaces[0].ID != "" || len(dry.Passed) != 0 {
			t.Fatalf("dry run: %+v", dry)
		}
	}
	made := get[api.Imported](r, "POST", "/import", api.Import{Directory: p.repository})
	if len(made.Workspaces) != 1 || made.Workspaces[0].Mode != workspace.ModeInPlace || made.Workspaces[0].Path != tree || made.Workspaces[0].Branch != "feature/login" {
		t.Fatalf("imported: %+v", made)
	}
	w := made.Workspaces[0]
	ended := r.session(w, "true")
	get[api.Waited](r, "GET", "/sessions/"+ended.ID+"/wait?for=exit&timeout=60s", nil)
	again := get[api.Imported](r, "POST", "/import", api.Import{Directory: p.repository})
	if len(again.Workspaces) != 0 || len(again.Passed) != 1 || again.Passed[0].Why != "it is workspace feature-login already" {
		t.Errorf("again: %+v", again)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	if _, err := os.Stat(filepath.Join(tree, "file")); err != nil {
		t.Errorf("the user's worktree: %v", err)
	}
	named := get[api.Imported](r, "POST", "/import", api.Import{Paths: []string{tree, p.repository}})
	if len(named.Workspaces) != 2 || named.Workspaces[1].Name != "main" {
		t.Errorf("by name: %+v", named)
	}
	if a := r.call("POST", "/import", api.Import{Paths: []string{p.repository, t.TempDir()}}); a.status != 422 || a.problem(t).Code != api.CodeNotRepository {
		t.Errorf("no repository: %d %s", a.status, a.body)
	}
}

// What an interrupted deletion has left without a row comes back.
func TestImportWhatADeletionLeft(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	notes := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "notes", Mode: workspace.ModeDirectory}).Workspace
	write(t, filepath.Join(w.Root, "precious"), "work")
	write(t, filepath.Join(notes.Root, "precious"), "work")
	deleting, kept := filepath.Join(filepath.Dir(w.Root), ".deleting-"+w.ID), filepath.Join(filepath.Dir(notes.Root), ".kept-"+notes.ID)
	move(t, w.Root, deleting)
	move(t, notes.Root, kept)
	for _, id := range []string{w.ID, notes.ID} {
		if err := r.store.DeleteWorkspace(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	r.expect("", "stays deleting .deleting-"+w.ID, "stays kept .kept-"+notes.ID)
	in := api.Import{Paths: []string{deleting, kept}}
	got := get[api.Imported](r, "POST", "/import", in)
	if len(got.Workspaces) != 1 || got.Workspaces[0].ID != w.ID || len(got.Deleted) != 1 || got.Deleted[0].ID != notes.ID {
		t.Fatalf("imported: %+v", got)
	}
	get[api.Restored](r, "POST", "/workspaces/"+notes.ID+"/restore", nil)
	for _, root := range []string{w.Root, notes.Root} {
		if _, err := os.Stat(filepath.Join(root, "precious")); err != nil {
			t.Error(err)
		}
	}
	r.expect("")
}

// Of several who import one directory, one gets it.
func TestImportAtOnce(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	git(t, p.repository, "worktree", "add", "-q", p.repository+".x")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if a := r.call("POST", "/import", api.Import{Directory: p.repository}); a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	if list := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces; len(list) != 1 {
		t.Errorf("workspaces: %+v", list)
	}
}
