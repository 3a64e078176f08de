//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/terminal"
	"middleman/workspace"
)

// printed makes a workspace whose session has printed its name and exited with 3.
func (r *running) printed(name string) (api.Workspace, api.Session) {
	r.t.Helper()
	w := r.workspace(name, &api.NewSession{Command: []string{"sh", "-c", "echo printed by " + name + "; exit 3"}})
	s := get[api.Waited](r, "GET", "/sessions/"+w.Sessions[0].ID+"/wait?for=exit&timeout=60s", nil).Session
	return w, s
}

// transcripts are the ids of the sessions of deleted workspaces.
func (r *running) transcripts() []string {
	r.t.Helper()
	ids := []string{}
	for _, s := range get[api.Sessions](r, "GET", "/transcripts", nil).Sessions {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

// hasState reports whether a session's state directory is there.
func (p *place) hasState(id string) bool {
	_, err := os.Lstat(filepath.Join(p.dirs.Sessions(), id, "exit.json"))
	return err == nil
}

// readable checks that the output, the screen and the exit of an ended session
// can be read.
func (r *running) readable(s api.Session, text string) {
	r.t.Helper()
	if a := r.call("GET", "/sessions/"+s.ID+"/output", nil); a.status != 200 || !strings.Contains(string(a.body), text) {
		r.t.Errorf("output: %d %q", a.status, a.body)
	}
	if a := r.call("GET", "/sessions/"+s.ID+"/capture", nil); a.status != 200 || !strings.Contains(string(a.body), text) {
		r.t.Errorf("screen: %d %q", a.status, a.body)
	}
	if a := r.call("GET", "/sessions/"+s.ID+"/recording", nil); a.status != 200 || !strings.Contains(string(a.body), text) {
		r.t.Errorf("recording: %d %q", a.status, a.body)
	}
	now := get[api.Session](r, "GET", "/sessions/"+s.ID, nil)
	if now.State != terminal.StateExited || now.Exit == nil || now.Exit.Code != 3 {
		r.t.Errorf("session: %+v", now)
	}
}

// A clean workspace and one with work: what their sessions have printed is there
// after the delete, and comes back with the workspace.
func TestDeleteKeepsTranscripts(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t)
		for _, dirty := range []bool{false, true} {
			w, s := r.printed("kept")
			if dirty {
				write(t, filepath.Join(w.Root, "precious"), "work")
			}
			would := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1&dry_run=1", nil)
			d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
			if d.Transcripts.Sessions != 1 || d.Transcripts.Bytes <= 0 || d.Transcripts.Gone != 0 || would.Transcripts.Sessions != 1 {
				t.Errorf("deleted: %+v, before that %+v", d.Transcripts, would.Transcripts)
			}
			if a := r.call("GET", "/workspaces/"+w.ID, nil); a.status != 404 {
				t.Errorf("the workspace: %d", a.status)
			}
			list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces
			if len(list) != 1 || list[0].ID != w.ID || list[0].NotRestorable {
				t.Errorf("deleted ones: %+v", list)
			}
			if got := r.transcripts(); !slices.Equal(got, []string{s.ID}) {
				t.Errorf("transcripts %v, want %s", got, s.ID)
			}
			if got := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); got.DeletedAt == nil || got.WorkspaceName != "kept" {
				t.Errorf("it does not say that it is of a deleted workspace: %+v", got)
			}
			if got := get[api.Sessions](r, "GET", "/sessions", nil).Sessions; len(got) != 0 {
				t.Errorf("among the others: %+v", got)
			}
			r.readable(s, "printed by kept")

			// A server that starts finds it as it is, and takes it for nothing else.
			r.stop()
			r = p.serve(t)
			r.readable(s, "printed by kept")
			r.expect("")

			restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
			if restored.Sessions != 1 || restored.Workspace.Branch != w.Branch {
				t.Errorf("restored: %+v", restored)
			}
			back := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil)
			if len(back.Sessions) != 1 || back.Sessions[0].ID != s.ID || back.Sessions[0].Name != s.Name || back.Sessions[0].DeletedAt != nil {
				t.Errorf("its sessions: %+v", back.Sessions)
			}
			r.readable(s, "printed by kept")
			if _, err := os.Stat(filepath.Join(w.Root, "file")); err != nil {
				t.Error(err)
			}
			if got := r.transcripts(); len(got) != 0 {
				t.Errorf("transcripts after the restore: %v", got)
			}
			get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1&forget_transcripts=1", nil)
			if p.hasState(s.ID) {
				t.Error("a transcript is kept against the consent to forget it")
			}
			if dirty {
				r.expect("?snapshots=1ns", "gone deleted kept")
			}
		}
		if list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces; len(list) != 0 {
			t.Errorf("deleted ones at last: %+v", list)
		}
	})
}

// What is beyond the budget goes, oldest deletion first, after a delete and at a
// start. What sessions of workspaces that exist have printed never does.
func TestTranscriptBudget(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	_, live := r.printed("live")
	var sessions []api.Session
	total := int64(0)
	for _, name := range []string{"first", "other", "third"} { // as long as each other, so that all take the same
		w, s := r.printed(name)
		total += get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil).Transcripts.Bytes
		sessions = append(sessions, s)
	}
	check := func(when string, want ...bool) {
		t.Helper()
		for i, s := range sessions {
			if p.hasState(s.ID) != want[i] {
				t.Errorf("%s: transcript %d is there: %v", when, i, !want[i])
			}
			if a := r.call("GET", "/sessions/"+s.ID, nil); (a.status == 200) != want[i] {
				t.Errorf("%s: record of transcript %d: %d", when, i, a.status)
			}
		}
		if !p.hasState(live.ID) {
			t.Errorf("%s: a transcript of a workspace that exists is gone", when)
		}
	}
	check("without a budget", true, true, true)
	r.stop()
	r = p.serve(t, func(o *server.Options) { o.KeepTranscripts = total - 1 })
	r.until("the oldest is gone", func() bool { return len(r.transcripts()) == 2 })
	check("at a start", false, true, true)
	w, s := r.printed("forth")
	d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	sessions = append(sessions, s)
	if d.Transcripts.Sessions != 1 {
		t.Errorf("deleted: %+v", d.Transcripts)
	}
	check("after a delete", false, false, true, true)

	// None is kept: the workspace goes without a record, and so it says.
	r.stop()
	r = p.serve(t, func(o *server.Options) { o.KeepTranscripts = 0 })
	r.until("all are gone", func() bool { return len(r.transcripts()) == 0 })
	check("with none kept", false, false, false, false)
	w, s = r.printed("fifth")
	if would := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?dry_run=1", nil).Transcripts; would.Sessions != 0 || would.Gone != 1 {
		t.Errorf("would be deleted: %+v", would)
	}
	if d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil).Transcripts; d.Sessions != 0 || d.Gone != 1 || p.hasState(s.ID) {
		t.Errorf("deleted: %+v", d)
	}
	if list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces; len(list) != 0 {
		t.Errorf("deleted ones: %+v", list)
	}
}

// One larger than the whole budget is gone at once, and the answer says so.
func TestTranscriptBeyondTheBudget(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.KeepTranscripts = 1 })
	w, s := r.printed("large")
	if would := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?dry_run=1", nil).Transcripts; would.Sessions != 0 || would.Bytes != 0 || would.Gone != 1 {
		t.Errorf("would be deleted: %+v", would)
	}
	if d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil).Transcripts; d.Sessions != 0 || d.Gone != 1 || r.place.hasState(s.ID) {
		t.Errorf("deleted: %+v", d)
	}
}

func TestForgetTranscripts(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	liveW, live := r.printed("live")
	one, oneS := r.printed("one")
	two, twoS := r.printed("two")
	write(t, filepath.Join(two.Root, "precious"), "work")
	for _, w := range []api.Workspace{one, two} {
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
	}
	for query, code := range map[string]string{
		"?workspace=" + liveW.ID:                        api.CodeNotDeleted,
		"?workspace=wnone":                              api.CodeNotFound,
		"?workspace=" + one.ID + "&workspace=../../etc": api.CodeNotFound,
	} {
		if a := r.call("DELETE", "/transcripts"+query, nil); a.status < 400 || a.problem(t).Code != code {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	would := get[api.ForgottenTranscripts](r, "DELETE", "/transcripts?dry_run=1", nil)
	if len(would.Transcripts) != 2 || would.Bytes <= 0 || !would.DryRun || len(r.transcripts()) != 2 {
		t.Errorf("would be gone: %+v", would)
	}
	done := get[api.ForgottenTranscripts](r, "DELETE", "/transcripts?workspace="+one.ID, nil)
	if len(done.Transcripts) != 1 || done.Transcripts[0].WorkspaceName != "one" || done.Transcripts[0].Sessions != 1 || done.Bytes <= 0 {
		t.Errorf("gone: %+v", done)
	}
	if p.hasState(oneS.ID) || !p.hasState(twoS.ID) || !p.hasState(live.ID) {
		t.Error("not that one alone is gone")
	}
	// Nothing is kept of the first any more; the second can be restored all the same.
	if a := r.call("POST", "/workspaces/"+one.ID+"/restore", nil); a.status != 404 {
		t.Errorf("restore: %d %s", a.status, a.body)
	}
	get[api.ForgottenTranscripts](r, "DELETE", "/transcripts", nil)
	if p.hasState(twoS.ID) || !p.hasState(live.ID) {
		t.Error("not those of deleted workspaces alone are gone")
	}
	if restored := get[api.Restored](r, "POST", "/workspaces/"+two.ID+"/restore", nil); restored.Sessions != 0 {
		t.Errorf("restored: %+v", restored)
	}
	// A session of a deleted workspace can be removed by itself, too.
	get[api.Deleted](r, "DELETE", "/workspaces/"+liveW.ID, nil)
	get[api.Session](r, "DELETE", "/sessions/"+live.ID, nil)
	if p.hasState(live.ID) || len(r.transcripts()) != 0 {
		t.Error("it is there still")
	}
}

// A snapshot that is removed leaves the transcripts, and a restore says so.
func TestTranscriptsOutliveTheSnapshot(t *testing.T) {
	r := newPlace(t).serve(t)
	w, s := r.printed("w")
	write(t, filepath.Join(w.Root, "precious"), "work")
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
	r.expect("?snapshots=1ns", "gone deleted w")
	r.expect("?snapshots=1ns")
	r.readable(s, "printed by w")
	if list := get[api.Workspaces](r, "GET", "/workspaces?deleted=1", nil).Workspaces; len(list) != 1 || !list[0].NotRestorable {
		t.Errorf("deleted ones: %+v", list)
	}
	a := r.call("POST", "/workspaces/"+w.ID+"/restore", nil)
	if p := a.problem(t); p.Code != api.CodeNoSnapshot || !strings.Contains(p.Detail, "transcripts of 1 session are kept: `middleman logs w/sh`") {
		t.Errorf("restore: %d %s", a.status, a.body)
	}
	r.readable(s, "printed by w")
}

// A restore that fails leaves all of it as it was.
func TestAFailedRestoreKeepsTranscripts(t *testing.T) {
	r := newPlace(t).serve(t)
	w, s := r.printed("w")
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	write(t, filepath.Dir(w.Root), "a file")
	if a := r.call("POST", "/workspaces/"+w.ID+"/restore", nil); a.status/100 != 4 || !strings.Contains(a.problem(t).Detail, filepath.Dir(w.Root)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := r.transcripts(); !slices.Equal(got, []string{s.ID}) {
		t.Errorf("transcripts %v", got)
	}
	remove(t, filepath.Dir(w.Root))
	if restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil); restored.Sessions != 1 {
		t.Errorf("restored: %+v", restored)
	}
}

// The database is lost: no budget takes a state directory of which nothing
// proves that its workspace was deleted. Where a snapshot proves it, the
// transcripts are those of a deleted workspace again.
func TestTranscriptsOfALostDatabase(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	keep := r.workspace("keep", nil) // leads to the repository
	clean, cleanS := r.printed("clean")
	dirty, dirtyS := r.printed("dirty")
	write(t, filepath.Join(dirty.Root, "precious"), "work")
	for _, w := range []api.Workspace{clean, dirty} {
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
	}
	r.stop()
	lost, err := filepath.Glob(p.dirs.Database() + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lost {
		remove(t, file)
	}
	r = p.serve(t)
	r.until("the deleted workspace is found again", func() bool { return len(r.transcripts()) == 1 })
	if got := r.transcripts(); !slices.Equal(got, []string{dirtyS.ID}) {
		t.Errorf("transcripts %v, want %s", got, dirtyS.ID)
	}
	if a := r.call("GET", "/workspaces/"+keep.ID, nil); a.status != 200 {
		t.Errorf("the workspace that exists: %d", a.status)
	}
	if restored := get[api.Restored](r, "POST", "/workspaces/"+dirty.ID+"/restore", nil); restored.Sessions != 1 {
		t.Errorf("restored: %+v", restored)
	}
	r.stop()
	r = p.serve(t, func(o *server.Options) { o.KeepTranscripts = 0 })
	get[api.ForgottenTranscripts](r, "DELETE", "/transcripts", nil)
	if !p.hasState(cleanS.ID) || !p.hasState(dirtyS.ID) {
		t.Error("the budget took what is not proved to be of a deleted workspace")
	}
	r.expect("", "gone session "+cleanS.ID)
}

// Each way to delete a workspace keeps its transcripts: a worker's, with its
// parent's or by prune, and one whose directory is gone.
func TestEveryDeleteKeepsTranscripts(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w, s := r.printed("gone")
	remove(t, w.Root)
	git(t, p.repository, "worktree", "remove", "-f", "-f", w.Root)
	r.expect("", "gone missing gone")
	r.readable(s, "printed by gone")

	parent := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	spawn := func(name string) api.Spawned {
		in := api.NewWorker{Name: name, Session: api.NewSession{Command: []string{"sh", "-c", "echo printed by " + name + "; exit 3"}}}
		out := get[api.Spawned](r, "POST", "/sessions/"+parent.Sessions[0].ID+"/workers", in, r.own(parent.Sessions[0].ID)...)
		get[api.Waited](r, "GET", "/sessions/"+out.Session.ID+"/wait?for=exit&timeout=60s", nil)
		return out
	}
	pruned, inner := spawn("pruned"), spawn("inner")
	write(t, filepath.Join(inner.Workspace.Root, "precious"), "work")
	r.until("the worker is pruned", func() bool { return slices.Contains(r.leftovers(""), "gone worker pruned") })
	r.readable(pruned.Session, "printed by pruned")
	d := get[api.Deleted](r, "DELETE", "/workspaces/"+parent.ID+"?workers=1&discard_work=1&stop_sessions=1", nil)
	if len(d.Workers) != 1 || d.Workers[0].Transcripts.Sessions != 1 || d.Transcripts.Sessions != 1 {
		t.Errorf("deleted: %+v", d)
	}
	r.readable(inner.Session, "printed by inner")
	if got := len(r.transcripts()); got != 4 {
		t.Errorf("%d transcripts", got)
	}
	if restored := get[api.Restored](r, "POST", "/workspaces/"+parent.ID+"/restore", nil); restored.Workspace.State != workspace.StateReady || restored.Sessions != 1 {
		t.Errorf("restored: %+v", restored)
	}
}

// A link to one session's screen ends with its workspace.
func TestASharedSessionEndsWithItsWorkspace(t *testing.T) {
	r := newPlace(t).serve(t)
	w, s := r.printed("shared")
	token := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "share", Scope: "session", Session: s.ID})
	path, header := "/api/v1/sessions/"+s.ID+"/capture", []string{"Authorization", "Bearer " + token.Secret}
	if a := r.browse("GET", path, nil, header...); a.status != 200 {
		t.Fatalf("before: %d %s", a.status, a.body)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	if a := r.browse("GET", path, nil, header...); a.status != 401 {
		t.Errorf("after: %d %s", a.status, a.body)
	}
}
