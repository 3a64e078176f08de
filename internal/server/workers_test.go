//go:build linux || darwin

package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/environ"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// spawn starts a worker of a session.
func (r *running) spawn(parent api.Session, in api.NewWorker, command ...string) api.Spawned {
	r.t.Helper()
	in.Session.Command = command
	return get[api.Spawned](r, "POST", "/sessions/"+parent.ID+"/workers", in, r.own(parent.ID)...)
}

// own returns the header by which a request is one of the session itself: with
// the token that its program has.
func (r *running) own(id string) []string {
	r.t.Helper()
	if _, err := os.ReadFile("/proc/self/environ"); err != nil {
		r.t.Skipf("the environment of a process cannot be read here: %v", err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		// 0 while the session does not answer, as on a busy machine
		pid := get[api.Session](r, "GET", "/sessions/"+id, nil).PID
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if token := environ.Lookup(strings.Split(string(data), "\x00"), "MIDDLEMAN_TOKEN"); token != "" {
			return []string{"Authorization", "Bearer " + token}
		}
	}
	r.t.Fatalf("session %s has no token", id)
	return nil
}

// workersOf waits until all workers of a session have ended.
func (r *running) workersOf(parent api.Session) []api.Worker {
	r.t.Helper()
	list := get[api.Workers](r, "GET", "/sessions/"+parent.ID+"/workers?wait=60s", nil).Workers
	for _, w := range list {
		if w.EndedAt == nil {
			r.t.Errorf("has not ended: %+v", w)
		}
	}
	return list
}

// ended is the one worker of those that has this session.
func ended(t *testing.T, list []api.Worker, id string) api.Worker {
	t.Helper()
	i := slices.IndexFunc(list, func(w api.Worker) bool { return w.ID == id })
	if i < 0 {
		t.Fatalf("worker %s is not in %+v", id, list)
	}
	return list[i]
}

// tombstone reads a worker's record from the disk.
func (p *place) tombstone(t *testing.T, id string) store.Tombstone {
	t.Helper()
	path := filepath.Join(p.dirs.Workers(), id+".json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	data, err := os.ReadFile(path)
	var x store.Tombstone
	if err == nil {
		err = json.Unmarshal(data, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func gitOutput(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// committing is a shell program that writes the same names as all others, and
// commits.
func committing(text string) []string {
	return []string{"sh", "-c", "echo " + text + ` >file; echo ` + text + ` >same; git add -A; exec git -c user.name=t -c user.email=t@example.org commit -qm ` + text}
}

// Eight workers of one session write the same names at once: eight branches,
// and nothing is mixed.
func TestEightWorkersWriteTheSameNames(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	parent := w.Sessions[0]
	write(t, filepath.Join(w.Root, "uncommitted"), "of the parent\n")
	spawned := make([]api.Spawned, 8)
	var wg sync.WaitGroup
	for i := range spawned {
		wg.Go(func() {
			spawned[i] = r.spawn(parent, api.NewWorker{Name: fmt.Sprintf("worker-%d", i)}, committing(fmt.Sprint("by-", i))...)
		})
	}
	wg.Wait()
	list := r.workersOf(parent)
	if len(list) != len(spawned) {
		t.Fatalf("%d workers", len(list))
	}
	for i, x := range spawned {
		if x.Workspace.Branch != "middleman/worker/"+x.Workspace.Name || filepath.Dir(x.Workspace.Root) != filepath.Join(w.Root, ".middleman/work") {
			t.Errorf("workspace %+v", x.Workspace)
		}
		if len(x.Warnings) != 1 || !strings.Contains(x.Warnings[0], "1 changed or new file") {
			t.Errorf("warnings %q", x.Warnings)
		}
		for _, name := range []string{"file", "same"} {
			if got := gitOutput(t, w.Root, "show", x.Workspace.Branch+":"+name); got != fmt.Sprint("by-", i) {
				t.Errorf("%s of worker %d is %q", name, i, got)
			}
		}
		k := ended(t, list, x.Session.ID)
		if k.Exit == nil || k.Exit.Code != 0 || k.Branch != x.Workspace.Branch || k.Base != w.BaseCommit || !k.Present ||
			k.Tip != gitOutput(t, w.Root, "rev-parse", k.Branch) || k.Left == nil || len(k.Left.Commits) != 1 || len(k.Left.Untracked) != 0 {
			t.Errorf("worker %d: %+v", i, k)
		}
	}
	if status := gitOutput(t, w.Root, "status", "--porcelain"); status != "?? uncommitted" {
		t.Errorf("the parent's status: %q", status)
	}
}

// A shared worker works where its parent was started, whatever kind of
// directory that is, and its scope is the parent's.
func TestSharedWorkers(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	sub := filepath.Join(p.repository, "services", "api")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(sub, "main"), "x\n")
	git(t, p.repository, "add", ".")
	git(t, p.repository, "commit", "-qm", "services")
	for _, mode := range []workspace.Mode{workspace.ModeWorktree, workspace.ModeDirectory, workspace.ModeInPlace} {
		t.Run(string(mode), func(t *testing.T) {
			r := &running{Server: r.Server, t: t, place: p, store: r.store, socket: r.socket, tcp: r.tcp, at: r.at}
			in := api.NewWorkspace{Name: "shared-" + string(mode), Mode: mode, Directory: sub, Session: &api.NewSession{Command: []string{"cat"}}}
			made := get[api.Created](r, "POST", "/workspaces", in)
			w := get[api.Workspace](r, "GET", "/workspaces/"+made.Workspace.ID+"?wait=60s", nil)
			parent := w.Sessions[0]
			x := r.spawn(parent, api.NewWorker{Name: "helper", Isolation: "shared"}, "sh", "-c", "pwd; echo $MIDDLEMAN_WORKSPACE_PATH; echo shared >by-worker; exit 7")
			if x.Workspace.ID != w.ID || x.Session.Name != "helper" || x.Session.Parent != parent.ID || len(x.Warnings) != 0 {
				t.Errorf("spawned %+v", x)
			}
			k := ended(t, r.workersOf(parent), x.Session.ID)
			if k.Exit == nil || k.Exit.Code != 7 || k.Path != w.Path || k.Left != nil || k.Branch != "" {
				t.Errorf("worker %+v", k)
			}
			if out := string(r.call("GET", "/sessions/"+x.Session.ID+"/output", nil).body); strings.Count(out, w.Path+"\r\n") != 2 {
				t.Errorf("it says %q, want %s twice", out, w.Path)
			}
			if _, err := os.Stat(filepath.Join(w.Path, "by-worker")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A worker starts in the same sub-directory as its parent, below the scope's
// root; a shared one may be told to start elsewhere in the scope.
func TestWorkersStartInTheSubdirectory(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	sub := filepath.Join(p.repository, "services", "api")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(sub, "main"), "x\n")
	git(t, p.repository, "add", ".")
	git(t, p.repository, "commit", "-qm", "services")
	for _, x := range []struct {
		name    string
		mode    workspace.Mode
		in      string // where the parent is started
		ask     api.NewWorker
		path    func(parent, worker api.Workspace) string
		placeOf func(parent api.Workspace) string // what the worker lies below
	}{
		{"worktree", workspace.ModeWorktree, sub, api.NewWorker{},
			func(_, worker api.Workspace) string { return filepath.Join(worker.Root, "services/api") },
			func(parent api.Workspace) string { return parent.Root }},
		{"part of the user's checkout", workspace.ModeInPlace, sub, api.NewWorker{},
			func(_, worker api.Workspace) string { return filepath.Join(worker.Root, "services/api") },
			func(api.Workspace) string { return sub }},
		{"told to", workspace.ModeWorktree, p.repository, api.NewWorker{Directory: "services"},
			func(_, worker api.Workspace) string { return filepath.Join(worker.Root, "services") },
			func(parent api.Workspace) string { return parent.Root }},
		{"shared, told to", workspace.ModeWorktree, p.repository, api.NewWorker{Directory: "services/../services/api", Isolation: "shared"},
			func(parent, _ api.Workspace) string { return filepath.Join(parent.Root, "services/api") },
			func(parent api.Workspace) string { return filepath.Dir(parent.Root) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := &running{Server: r.Server, t: t, place: p, store: r.store, socket: r.socket, tcp: r.tcp, at: r.at}
			made := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Mode: x.mode, Directory: x.in, Session: &api.NewSession{Command: []string{"cat"}}})
			w := get[api.Workspace](r, "GET", "/workspaces/"+made.Workspace.ID+"?wait=60s", nil)
			out := r.spawn(w.Sessions[0], x.ask, "sh", "-c", "pwd")
			k := ended(t, r.workersOf(w.Sessions[0]), out.Session.ID)
			if want := x.path(w, out.Workspace); k.Path != want {
				t.Errorf("started in %s, want %s", k.Path, want)
			}
			if !strings.HasPrefix(out.Workspace.Root, x.placeOf(w)+"/") {
				t.Errorf("made at %s, want below %s", out.Workspace.Root, x.placeOf(w))
			}
			if said := string(r.call("GET", "/sessions/"+out.Session.ID+"/output", nil).body); said != k.Path+"\r\n" {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// A scope that is left is refused, and no trace is left of it.
func TestSpawnLeavesNoScope(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	outside := filepath.Join(filepath.Dir(p.dirs.Data), "outside")
	for _, link := range [][2]string{{outside, "dangling"}, {p.repository, "linked"}} {
		if err := os.Symlink(link[0], filepath.Join(w.Root, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	for _, isolation := range []string{"worktree", "shared"} {
		for _, dir := range []string{"..", "dangling", "dangling/inner", "linked", p.repository, "/"} {
			a := r.call("POST", "/sessions/"+w.Sessions[0].ID+"/workers", api.NewWorker{Isolation: isolation, Directory: dir}, r.own(w.Sessions[0].ID)...)
			if got := a.problem(t); a.status != 422 || got.Code != "leaves-scope" {
				t.Errorf("%s in %s: %s", isolation, dir, a.body)
			}
		}
	}
	for _, x := range []struct {
		in     api.NewWorker
		status int
	}{
		{api.NewWorker{Directory: "none"}, 422},
		{api.NewWorker{Directory: "file"}, 422},
		{api.NewWorker{Name: "../x"}, 422},
		{api.NewWorker{Isolation: "other"}, 422},
		{api.NewWorker{Session: api.NewSession{Command: []string{"./file"}}}, 422},
		{api.NewWorker{Name: "parent"}, 409},
	} {
		if a := r.call("POST", "/sessions/"+w.Sessions[0].ID+"/workers", x.in, r.own(w.Sessions[0].ID)...); a.status != x.status {
			t.Errorf("%+v: %d %s", x.in, a.status, a.body)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.Root, ".middleman")); !os.IsNotExist(err) {
		t.Errorf("place: %v", err)
	}
	if branches := gitOutput(t, p.repository, "branch", "--list", "middleman/worker*"); branches != "" {
		t.Errorf("branches %s", branches)
	}
	for _, k := range r.workersOf(w.Sessions[0]) {
		if k.State != terminal.StateFailed || k.Error == "" {
			t.Errorf("recorded: %+v", k)
		}
	}
}

// Each kind of end leaves its tombstone.
func TestTombstones(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	parent := w.Sessions[0]
	begin := func(script string) string {
		return r.spawn(parent, api.NewWorker{}, "sh", "-c", script).Session.ID
	}
	zero, seven := begin("true"), begin("echo work >left; exit 7")
	killed, stopped := begin("kill -KILL $$"), begin("exec sleep 1000")
	down, restarted := begin("read line; exit 3"), begin("exec sleep 1000")
	failed := r.call("POST", "/sessions/"+parent.ID+"/workers", api.NewWorker{Session: api.NewSession{Command: []string{p.repository + "/file"}}}, r.own(parent.ID)...)
	if failed.status != 422 {
		t.Errorf("started a file: %s", failed.body)
	}
	get[api.Session](r, "DELETE", "/sessions/"+stopped, nil)
	r.stop()

	// With the server down one ends, and of one the owner goes without a word,
	// as when the machine does.
	if err := p.owners.Session(down).Input(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	loseOwner(t, p, restarted)
	r = p.serve(t)
	list := r.workersOf(parent)
	for _, x := range []struct {
		name, id string
		state    terminal.State
		status   int
	}{
		{"0", zero, terminal.StateExited, 0},
		{"7", seven, terminal.StateExited, 7},
		{"killed", killed, terminal.StateExited, 128 + 9},
		{"stopped", stopped, terminal.StateExited, 128 + 15},
		{"server down", down, terminal.StateExited, 3},
		{"machine restarted", restarted, terminal.StateLost, 0},
	} {
		k := p.tombstone(t, x.id)
		if k.State != x.state || k.Ended == nil || k.Ended.Before(k.Started) || (k.Exit != nil) != (x.state == terminal.StateExited) {
			t.Errorf("%s: %+v", x.name, k)
		}
		if k.Exit != nil && k.Exit.Status() != x.status && x.name != "stopped" {
			t.Errorf("%s: exit %+v", x.name, k.Exit)
		}
		if k.Parent != parent.ID || k.ParentWorkspace != w.ID || k.Branch != "middleman/worker/"+k.WorkspaceName || k.Base != w.BaseCommit ||
			k.Tip != k.Base || k.Left == nil || k.Depth != 1 || k.Isolation != store.IsolationWorktree {
			t.Errorf("%s: %+v", x.name, k)
		}
		if shown := ended(t, list, x.id); shown.State != x.state || !shown.Present {
			t.Errorf("%s: shown as %+v", x.name, shown)
		}
	}
	if left := p.tombstone(t, seven).Left; !slices.Equal(left.Untracked, []string{"left"}) {
		t.Errorf("left: %+v", left)
	}

	// It outlives session and directory.
	k := p.tombstone(t, seven)
	deleted := get[api.Deleted](r, "DELETE", "/workspaces/"+k.Workspace+"?discard_work=1", nil)
	if !deleted.Restorable {
		t.Errorf("deleted %+v", deleted)
	}
	if after := p.tombstone(t, seven); after.Exit.Code != 7 || after.Left == nil {
		t.Errorf("after its deletion: %+v", after)
	}
	if shown := ended(t, r.workersOf(parent), seven); shown.Present {
		t.Errorf("present: %+v", shown)
	}
	get[api.Restored](r, "POST", "/workspaces/"+k.Workspace+"/restore", nil)
	if shown := ended(t, r.workersOf(parent), seven); !shown.Present {
		t.Errorf("restored: %+v", shown)
	}
}

// loseOwner kills a session's owner and its program, so that no exit is
// recorded: what is left of it after the machine was restarted.
func loseOwner(t *testing.T, p *place, id string) {
	t.Helper()
	status, err := p.owners.Session(id).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(p.dirs.Sessions(), id, "owner.json"))
	var owner struct {
		PID int `json:"owner_pid"`
	}
	if err == nil {
		err = json.Unmarshal(data, &owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{owner.PID, status.PID} {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A parent whose workers have workspaces in it is not deleted without consent,
// and with it nothing is begun where one of them would be refused. The deepest
// goes first, and all of it can be restored.
func TestDeleteWithWorkers(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	one := r.spawn(w.Sessions[0], api.NewWorker{Name: "one"}, "cat")
	two := r.spawn(one.Session, api.NewWorker{Name: "two"}, "cat")
	if !strings.HasPrefix(two.Workspace.Root, one.Workspace.Root+"/") || two.Workspace.Parent != one.Workspace.ID {
		t.Errorf("worker of a worker: %+v", two.Workspace)
	}
	write(t, filepath.Join(two.Workspace.Root, "work"), "of two\n")
	path := "/workspaces/" + w.ID

	a := r.call("DELETE", path+"?discard_work=1&stop_sessions=1", nil)
	if p := a.problem(t); p.Code != api.CodeHasWorkers || len(p.Workers) != 2 || !strings.Contains(p.Detail, "one, two") {
		t.Errorf("without consent: %s", a.body)
	}
	a = r.call("DELETE", path+"?workers=1&stop_sessions=1", nil)
	if p := a.problem(t); p.Code != api.CodeWorkWouldLose || !slices.Equal(p.Lost.Untracked, []string{"two: work"}) {
		t.Errorf("with work: %s", a.body)
	}
	a = r.call("DELETE", path+"?workers=1&discard_work=1", nil)
	if p := a.problem(t); p.Code != api.CodeSessionsRun || len(p.Sessions) != 3 {
		t.Errorf("with sessions: %s", a.body)
	}
	dry := get[api.Deleted](r, "DELETE", path+"?workers=1&dry_run=1", nil)
	if len(dry.Workers) != 2 || !dry.Lost.Empty() || dry.Workers[0].Workspace.Name != "two" {
		t.Errorf("dry run: %+v", dry)
	}
	for _, s := range []api.Session{w.Sessions[0], one.Session, two.Session} {
		if now := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); now.State != terminal.StateRunning {
			t.Errorf("after refusals: %+v", now)
		}
	}

	deleted := get[api.Deleted](r, "DELETE", path+"?workers=1&discard_work=1&stop_sessions=1", nil)
	if len(deleted.Workers) != 2 || !deleted.Workers[0].Restorable {
		t.Errorf("deleted: %+v", deleted)
	}
	if _, err := os.Lstat(w.Root); !os.IsNotExist(err) {
		t.Errorf("directory: %v", err)
	}
	back := get[api.Restored](r, "POST", "/workspaces/"+two.Workspace.ID+"/restore", nil)
	if text, err := os.ReadFile(filepath.Join(back.Workspace.Root, "work")); err != nil || string(text) != "of two\n" {
		t.Errorf("restored to %s: %q, %v", back.Workspace.Root, text, err)
	}
}

func TestWorkersOfWorkersAreBounded(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	parent := w.Sessions[0]
	for range 4 {
		parent = r.spawn(parent, api.NewWorker{Isolation: "shared"}, "cat").Session
	}
	a := r.call("POST", "/sessions/"+parent.ID+"/workers", api.NewWorker{Isolation: "shared"}, r.own(parent.ID)...)
	if got := a.problem(t); got.Code != api.CodeTooManyWorkers {
		t.Errorf("too deep: %s", a.body)
	}
}

// A worker has no weaker clipboard and keeps no more output than the session that starts
// it, whatever it asks for: its own workers neither, nor one that is taken up again.
func TestWorkersKeepTheRulesOfTheirParent(t *testing.T) {
	r := newPlace(t).serve(t)
	bound, all := int64(1<<20), int64(0)
	parent := r.workspace("ruled", &api.NewSession{Command: []string{"cat"}, Clipboard: terminal.ClipboardDeny, KeepOutput: &bound}).Sessions[0]
	for _, isolation := range []string{"shared", "worktree"} {
		asked := api.NewWorker{Isolation: isolation, Name: "cl-" + isolation, Session: api.NewSession{Clipboard: terminal.ClipboardAllow, KeepOutput: &all}}
		worker := r.spawn(parent, asked, "cat").Session
		asked.Name, asked.Isolation = "of-"+isolation, "shared"
		for _, id := range []string{worker.ID, r.spawn(worker, asked, "cat").Session.ID} {
			got := get[api.Session](r, "GET", "/sessions/"+id, nil)
			if got.Clipboard != terminal.ClipboardDeny || got.KeepOutput == nil || *got.KeepOutput != bound {
				t.Errorf("%s: worker %s: clipboard %s, output %v", isolation, got.Name, got.Clipboard, got.KeepOutput)
			}
		}
	}
	free := r.workspace("free", &api.NewSession{Command: []string{"cat"}, KeepOutput: &all}).Sessions[0]
	asked := api.NewWorker{Isolation: "shared", Name: "cl", Session: api.NewSession{Clipboard: terminal.ClipboardAllow, KeepOutput: &all}}
	if got := get[api.Session](r, "GET", "/sessions/"+r.spawn(free, asked, "cat").Session.ID, nil); got.Clipboard != terminal.ClipboardAllow || *got.KeepOutput != 0 {
		t.Errorf("a worker of one that may: clipboard %s, output %v", got.Clipboard, got.KeepOutput)
	}
}
