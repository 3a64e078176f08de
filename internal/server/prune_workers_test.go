//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
)

// Of workers that have ended, prune takes the directories that hold nothing
// but what is on a branch. The branch and the record stay. Where git fails it
// takes nothing.
func TestPruneWorkers(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	parent := w.Sessions[0]
	one := func(name string, command ...string) api.Spawned {
		return r.spawn(parent, api.NewWorker{Name: name}, command...)
	}
	done, dirty := one("done", committing("done")...), one("dirty", "sh", "-c", "echo x >new")
	detached := one("detached", "sh", "-c", "git checkout -q --detach; echo x >file; git -c user.name=t -c user.email=t@example.org commit -qam off")
	live := one("live", "cat")
	outer := one("outer", "cat")
	inner := r.spawn(outer.Session, api.NewWorker{Name: "inner"}, "true")
	get[api.Session](r, "DELETE", "/sessions/"+outer.Session.ID, nil)
	for _, x := range []api.Spawned{done, dirty, detached, inner} {
		get[api.Waited](r, "GET", "/sessions/"+x.Session.ID+"/wait?for=exit&timeout=60s", nil)
	}
	r.workersOf(outer.Session)
	get[api.Workers](r, "GET", "/sessions/"+parent.ID+"/workers", nil)

	path := os.Getenv("PATH")
	bad := t.TempDir()
	write(t, filepath.Join(bad, "git"), "#!/bin/sh\necho 'fatal: no' >&2\nexit 128\n")
	if err := os.Chmod(filepath.Join(bad, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bad+":"+path)
	for _, l := range get[api.Leftovers](r, "POST", "/prune", nil).Leftovers {
		if l.Prunable || l.Pruned {
			t.Errorf("with git failing: %+v", l)
		}
	}
	t.Setenv("PATH", path)
	for _, x := range []api.Spawned{done, dirty, detached, live, outer, inner} {
		if _, err := os.Stat(filepath.Join(x.Workspace.Root, "file")); err != nil {
			t.Error(err)
		}
	}

	r.expect("?dry_run=1", "would worker done", "stays worker dirty", "stays worker detached", "stays worker outer", "would worker inner")
	// What setup printed goes with it, and so does a branch that holds nothing.
	log := p.dirs.SetupLog(done.Workspace.ID)
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, log, "what setup printed")
	branch := func(x api.Spawned) string { return filepath.Base(x.Workspace.Branch) }
	r.expect("", "gone worker done", "stays worker dirty", "stays worker detached", "stays worker outer", "gone worker inner", "gone branch "+branch(inner))
	r.expect("?dry_run=1", "stays worker dirty", "stays worker detached", "would worker outer", "stays branch "+branch(done))
	if has(log) {
		t.Errorf("%s is there still", log)
	}
	if got := gitOutput(t, w.Root, "for-each-ref", "refs/heads/"+inner.Workspace.Branch); got != "" {
		t.Errorf("the branch of inner: %s", got)
	}
	if _, err := os.Stat(done.Workspace.Root); !os.IsNotExist(err) {
		t.Errorf("directory: %v", err)
	}
	if got := gitOutput(t, w.Root, "show", done.Workspace.Branch+":same"); got != "done" {
		t.Errorf("the branch has %q", got)
	}
	if k := p.tombstone(t, done.Session.ID); k.Tip != gitOutput(t, w.Root, "rev-parse", done.Workspace.Branch) || k.Ended == nil {
		t.Errorf("record: %+v", k)
	}
	if k := ended(t, get[api.Workers](r, "GET", "/workers", nil).Workers, done.Session.ID); k.Present {
		t.Errorf("present: %+v", k)
	}
}

// A worker whose directory, or whose place in its parent, is gone is missing,
// and can be deleted.
func TestWorkerIsMissing(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	one := r.spawn(w.Sessions[0], api.NewWorker{Name: "one"}, "true")
	two := r.spawn(w.Sessions[0], api.NewWorker{Name: "two"}, committing("two")...)
	r.workersOf(w.Sessions[0])
	remove(t, one.Workspace.Root)
	r.expect("?dry_run=1", "stays missing one", "would worker two")
	remove(t, filepath.Join(w.Root, ".middleman"))
	r.expect("?dry_run=1", "stays missing one", "stays missing two")
	if a := r.call("DELETE", "/workspaces/"+one.Workspace.ID, nil); a.problem(t).Code != api.CodeUnknownLoss {
		t.Errorf("what was in it is not known: %s", a.body)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+one.Workspace.ID+"?discard_work=1", nil)
	a := r.call("DELETE", "/workspaces/"+two.Workspace.ID, nil)
	if p := a.problem(t); p.Code != api.CodeWorkWouldLose {
		t.Errorf("its commit is nowhere else: %s", a.body)
	}
	if deleted := get[api.Deleted](r, "DELETE", "/workspaces/"+two.Workspace.ID+"?discard_work=1", nil); !deleted.Restorable {
		t.Errorf("deleted: %+v", deleted)
	}
	restored := get[api.Restored](r, "POST", "/workspaces/"+two.Workspace.ID+"/restore", nil)
	if got := gitOutput(t, restored.Workspace.Root, "log", "-1", "--format=%s"); got != "two" {
		t.Errorf("restored to %s at %q", restored.Workspace.Root, got)
	}
}

// The branch of a worker goes when its commits are elsewhere, also when no row
// names the repository any more. The record goes last: when parent and worker are
// gone and it is old, or by consent.
func TestPruneWorkerRecords(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	parent := w.Sessions[0]
	one := r.spawn(parent, api.NewWorker{Name: "one"}, committing("one")...)
	r.workersOf(parent)
	branch, record := "branch "+filepath.Base(one.Workspace.Branch), "record "+one.Session.ID
	r.expect("?workers=1", "gone worker one")
	r.expect("?workers=1", "stays "+branch) // and the parent lives

	get[api.Session](r, "DELETE", "/sessions/"+parent.ID, nil)
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	r.expect("?dry_run=1", "stays "+branch)
	r.expect("?dry_run=1&workers=1", "stays "+branch, "would "+record)
	git(t, p.repository, "merge", "-q", one.Workspace.Branch)
	r.expect("?dry_run=1", "would "+branch)
	r.expect("", "gone "+branch)
	if got := gitOutput(t, p.repository, "for-each-ref", "refs/heads/middleman"); got != "" {
		t.Errorf("left: %s", got)
	}
	r.expect("")

	k := p.tombstone(t, one.Session.ID)
	ended := k.Ended.Add(-31 * 24 * time.Hour)
	k.Ended = &ended
	if err := (store.Tombstones{Dir: p.dirs.Workers()}).Write(k); err != nil {
		t.Fatal(err)
	}
	r.expect("?dry_run=1", "would "+record)
	r.expect("", "gone "+record)
	if has(filepath.Join(p.dirs.Workers(), one.Session.ID+".json")) || len(get[api.Workers](r, "GET", "/workers", nil).Workers) != 0 {
		t.Error("the record is there still")
	}
	r.expect("?workers=1")
}
