package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/dirid"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/workspace"
)

// A worker that is there before the first sandboxed session of its parent's workspace:
// under bubblewrap what leads to it is read-only, and Landlock refuses the session.
func TestSandboxAroundWorker(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(method), func(t *testing.T) {
			support := lacking(map[sandbox.Method]sandbox.Method{sandbox.Bubblewrap: sandbox.Landlock, sandbox.Landlock: sandbox.Bubblewrap}[method])
			if chosen, err := sandbox.Choose(sandbox.Workspace, support()); chosen != method {
				t.Skipf("%s cannot be used here: %v", method, err)
			}
			r := newPlace(t).serve(t, func(o *server.Options) { o.Support = support })
			parent := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
			worker := r.spawn(parent.Sessions[0], api.NewWorker{Name: "inner"}, "cat").Workspace
			in := api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "mv .middleman x; mv .middleman/work .middleman/y; for dir in .middleman/work/*; do mv $dir $dir.old; ln -s / .middleman/work/z; done; echo x >.middleman/x; echo x >tried"}}
			a := r.call("POST", "/workspaces/"+parent.ID+"/sessions", in)
			if method == sandbox.Landlock {
				if a.status != 422 || !strings.Contains(string(a.body), worker.Root) || !strings.Contains(string(a.body), "use bubblewrap") {
					t.Errorf("%d %s", a.status, a.body)
				}
				return
			}
			if a.status != 201 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			r.until("it has tried", func() bool { _, err := os.Stat(filepath.Join(parent.Root, "tried")); return err == nil })
			for _, name := range []string{".middleman/x", ".middleman/y", ".middleman/work/z"} {
				if _, err := os.Lstat(filepath.Join(parent.Root, name)); err == nil {
					t.Errorf("it made %s", name)
				}
			}
			if info, err := os.Lstat(worker.Root); err != nil || !info.IsDir() {
				t.Errorf("the worker: %v, %v", info, err)
			}
		})
	}
}

// In the main checkout, and in each directory that a sandboxed session may write to, no
// worktree is made.
func TestNoWorktreeInASandbox(t *testing.T) {
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) {
		o.Workspaces = workspace.New(workspace.Options{Base: p.dirs.Workspaces(), Location: workspace.LocationRepository})
	})
	make := func(name, place string, mode workspace.Mode) answer {
		return r.call("POST", "/workspaces", api.NewWorkspace{Name: name, Directory: p.repository, Mode: mode, Place: place})
	}
	root := func(name string) string {
		for _, w := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
			if w.Name == name {
				return get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil).Root
			}
		}
		t.Fatalf("no workspace %s", name)
		return ""
	}
	work := filepath.Join(p.repository, ".middleman/work")
	make("before", "", workspace.ModeWorktree)
	if at := root("before"); filepath.Dir(at) != work {
		t.Errorf("before: at %s", at)
	}
	make("here", "", workspace.ModeInPlace)
	var here string
	for _, w := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
		if w.Name == "here" {
			here = w.ID
		}
	}
	root("here") // it is made
	get[api.Session](r, "POST", "/workspaces/"+here+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"cat"}})
	make("after", "", workspace.ModeWorktree)
	if at := root("after"); filepath.Dir(filepath.Dir(at)) != p.dirs.Workspaces() {
		t.Errorf("after: at %s", at)
	}
	if a := make("asked", "repository", workspace.ModeWorktree); a.status != 422 || !strings.Contains(string(a.body), "sandbox of workspace here") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// git writes no merged files where a sandboxed program could replace directories meanwhile.
func TestMergeIntoSandbox(t *testing.T) {
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	write(t, filepath.Join(w.Root, "new"), "new\n")
	git(t, w.Root, "add", ".")
	git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", "more")
	here := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "here", Directory: p.repository, Mode: workspace.ModeInPlace}).Workspace
	get[api.Workspace](r, "GET", "/workspaces/"+here.ID+"?wait=60s", nil)
	s := get[api.Session](r, "POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"cat"}})
	a := r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "sandbox of session here/agent") {
		t.Errorf("%+v", problem)
	}
	if _, err := os.Lstat(filepath.Join(p.repository, "new")); err == nil {
		t.Error("files were written")
	}
	r.call("DELETE", "/sessions/"+s.ID, nil)
	// What outlives its program counts as well.
	s = get[api.Session](r, "POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "left", Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "trap '' HUP; sleep 1000 & exit 0"}})
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	a = r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "what it has left still runs: stop that first (`middleman stop here/left`)") {
		t.Errorf("%+v", problem)
	}
	r.call("DELETE", "/sessions/"+s.ID, nil)
	if merged := get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{}); merged.Checkout != p.repository {
		t.Errorf("%+v", merged)
	}
	// The record tells that none of these ran under Landlock.
	git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", "last")
	r.stop()
	r = p.serve(t, func(o *server.Options) { o.Support = lacking(sandbox.Bubblewrap) })
	list, err := r.store.Exposed(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	// Without a record, as from before there was one, nobody knows.
	git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", "later")
	for _, e := range list {
		if err := r.store.ForgetExposed(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	a = r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "the sandboxed programs of workspace here have left under Landlock cannot be found") {
		t.Errorf("%+v", problem)
	}
}

// A session that its method cannot confine is refused when it is asked for, and stands in
// nobody's way. Where the record of one that has run cannot be read, merge names it.
func TestLandlockInAMainCheckout(t *testing.T) {
	support := lacking(sandbox.Bubblewrap)
	if _, err := sandbox.Choose(sandbox.Workspace, support()); err != nil {
		t.Skipf("Landlock cannot be used here: %v", err)
	}
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) { o.Support = support })
	w := r.workspace("w", nil)
	git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", "more")
	here := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "here", Directory: p.repository, Mode: workspace.ModeInPlace}).Workspace
	get[api.Workspace](r, "GET", "/workspaces/"+here.ID+"?wait=60s", nil)
	a := r.call("POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"cat"}})
	if problem := a.problem(t); problem.Code != api.CodeStartFailed || !strings.Contains(problem.Detail, "landlock cannot protect "+filepath.Join(p.repository, ".git")) {
		t.Errorf("%+v", problem)
	}
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"true"}})
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	write(t, filepath.Join(p.dirs.Sandbox(s.ID), "policy.json"), "{")
	git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", "last")
	a = r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
	if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "the sandbox of session w/agent may change is not known") {
		t.Errorf("%+v", problem)
	}
}

// What a program has left under Landlock cannot be found, and may write below the
// directory of its workspace until the machine is restarted: nothing is merged into a
// checkout there, also when the workspace is forgotten and bubblewrap was installed.
func TestMergeAfterLandlock(t *testing.T) {
	support := lacking(sandbox.Bubblewrap)
	if _, err := sandbox.Choose(sandbox.Workspace, support()); err != nil {
		t.Skipf("Landlock cannot be used here: %v", err)
	}
	p := newPlace(t)
	project := filepath.Join(filepath.Dir(p.repository), "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	r := p.serve(t, func(o *server.Options) { o.Support = support })
	here := r.inPlace("here", project)
	s := get[api.Session](r, "POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"true"}})
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	if err := os.Rename(p.repository, filepath.Join(project, "repository")); err != nil {
		t.Fatal(err)
	}
	p.repository = filepath.Join(project, "repository")
	w := r.workspace("w", nil)
	write(t, filepath.Join(w.Root, "new"), "new\n")
	git(t, w.Root, "add", ".")
	git(t, w.Root, "commit", "-qm", "more")
	refused := func(when, who string) {
		t.Helper()
		a := r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
		if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "sandbox of "+who+" can replace") || !strings.Contains(problem.Detail, "merge with git, once nothing of it runs, or after a restart of this machine") {
			t.Errorf("%s: %+v", when, problem)
		}
		if _, err := os.Lstat(filepath.Join(p.repository, "new")); err == nil {
			t.Errorf("%s: files were written", when)
		}
	}
	refused("ended", "session here/agent")
	r.call("DELETE", "/workspaces/"+here.ID+"?stop_sessions=true&discard_work=true&forget_transcripts=true", nil)
	gone := "session " + s.ID + " of workspace here"
	refused("deleted", gone)
	r.stop()
	r = p.serve(t)
	refused("another server, with bubblewrap", gone)
	r.stop()
	r = p.serve(t, func(o *server.Options) { o.Support, o.Boot = support, "another" })
	if merged := get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{}); merged.Checkout != p.repository {
		t.Errorf("after a restart of the machine: %+v", merged)
	}
}

// A sandbox stays with the directory that it was made for: nothing is merged there when it
// was moved, alone or with a directory above, while the program runs.
func TestMergeIntoMoved(t *testing.T) {
	eachMethod(t, func(t *testing.T, support func() sandbox.Support) {
		p := newPlace(t)
		home := filepath.Dir(p.repository)
		if dirid.Of(home) == "" {
			t.Skip("this file system records no birth times")
		}
		old, sub := filepath.Join(home, "dev"), filepath.Join(home, "dev", "sub")
		git(t, p.repository, "worktree", "add", "-q", "-b", "dev", old)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		w := r.workspace("w", nil)
		write(t, filepath.Join(w.Root, "new"), "new\n")
		git(t, w.Root, "add", ".")
		git(t, w.Root, "commit", "-qm", "more")
		refused := func(checkout, by string) {
			t.Helper()
			a := r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{Into: "dev"})
			if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, checkout+" would get the merged files, and the program in the sandbox of session "+by+" can replace") {
				t.Errorf("%+v", problem)
			}
			if _, err := os.Lstat(filepath.Join(checkout, "new")); err == nil {
				t.Errorf("files were written to %s", checkout)
			}
		}
		start := func(in api.Workspace, name string) api.Session {
			t.Helper()
			s := get[api.Session](r, "POST", "/workspaces/"+in.ID+"/sessions", api.NewSession{Name: name, Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "echo x >" + name + "; exec cat"}})
			r.until("it runs", func() bool { _, err := os.Stat(filepath.Join(in.Root, name)); return err == nil })
			return s
		}
		inside := r.inPlace("inside", sub)
		s := start(inside, "agent")
		moved := filepath.Join(home, "moved")
		git(t, p.repository, "worktree", "move", old, moved)
		refused(moved, "inside/agent")
		r.call("DELETE", "/sessions/"+s.ID, nil)

		here := r.inPlace("here", moved)
		s = start(here, "agent")
		again := filepath.Join(home, "again")
		git(t, p.repository, "worktree", "move", moved, again)
		refused(again, "here/agent")
		// Another directory at that path, with a session, takes nothing from the record.
		if err := os.Mkdir(moved, 0o700); err != nil {
			t.Fatal(err)
		}
		other := start(here, "other")
		r.call("DELETE", "/sessions/"+other.ID, nil)
		refused(again, "here/agent")
		r.stop()
		r = p.serve(t, func(o *server.Options) { o.Support = support })
		refused(again, "here/agent")
		r.call("DELETE", "/sessions/"+s.ID, nil)
		if support().Bubblewrap == "" { // what it has left cannot be found
			refused(again, "inside/agent")
			return
		}
		if merged := get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{Into: "dev"}); merged.Checkout != again {
			t.Errorf("%+v", merged)
		}
	})
}
