//go:build faults && (linux || darwin)

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/internal/store"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/workspace"
)

const faultServerVariable = "MIDDLEMAN_TEST_SERVER"

// TestFaultServer is a server that a plan may kill, in a process of its own.
func TestFaultServer(t *testing.T) {
	text := os.Getenv(faultServerVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultSpawn")
	}
	p := &place{}
	if err := json.Unmarshal([]byte(text), &p.dirs); err != nil {
		t.Fatal(err)
	}
	p.owners = ptyowner.New(ptyowner.Options{Data: p.dirs.Data, Sessions: p.dirs.Sessions(), Runtime: p.dirs.Runtime})
	p.backend = p.owners
	p.serve(t)
	os.Stdout.WriteString("serving\n")
	bufio.NewReader(os.Stdin).ReadString('\n') // until the test has ended
}

// killable starts such a server, and returns when it serves. dead returns when
// it has ended.
func killable(t *testing.T, dirs config.Dirs, plan *fault.Plan) (dead func()) {
	t.Helper()
	_, dead = killableProcess(t, dirs, plan)
	return dead
}

// killableProcess is killable, and returns the process too.
func killableProcess(t *testing.T, dirs config.Dirs, plan *fault.Plan) (process *os.Process, dead func()) {
	t.Helper()
	text, err := json.Marshal(dirs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultServer$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), faultServerVariable+"="+string(text), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for serving := false; !serving && lines.Scan(); {
		serving = lines.Text() == "serving"
	}
	return cmd.Process, func() {
		in.Close()
		_ = cmd.Wait() // it was killed, or is now told to end
		// What it was just about to execute may have the lock for a moment.
		lock, err := private.AwaitLock(context.Background(), dirs.ServerLock())
		if err == nil {
			err = lock.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A server that is killed at any stage of a spawn leaves a worker that runs,
// or nothing but a record that says that there is none. The parent and the
// repository are not touched.
func TestFaultSpawn(t *testing.T) {
	for _, x := range []struct {
		place     string
		after     int
		isolation store.Isolation
		runs      bool
	}{
		{"tombstone/written", 0, store.IsolationWorktree, false},
		{"spawn/recorded", 0, store.IsolationWorktree, false},
		{"spawn/row", 0, store.IsolationWorktree, false},
		{"create/branch", 0, store.IsolationWorktree, false},
		{"create/directory", 0, store.IsolationWorktree, false},
		{"create/added", 0, store.IsolationWorktree, false},
		{"create/begun", 0, store.IsolationWorktree, false},
		{"create/placed", 0, store.IsolationWorktree, false},
		{"create/checkout", 0, store.IsolationWorktree, false},
		{"create/checked-out", 0, store.IsolationWorktree, false},
		{"create/filled", 0, store.IsolationWorktree, false},
		{"create/session", 0, store.IsolationWorktree, true},
		{"tombstone/written", 1, store.IsolationWorktree, true},
		{"spawn/done", 0, store.IsolationWorktree, true},
		{"tombstone/written", 0, store.IsolationShared, false},
		{"spawn/recorded", 0, store.IsolationShared, false},
		{"spawn/launched", 0, store.IsolationShared, true},
		{"spawn/done", 0, store.IsolationShared, true},
	} {
		t.Run(string(x.isolation)+" "+x.place, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.serve(t)
			w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
			write(t, filepath.Join(w.Root, "work"), "of the parent\n")
			own := r.own(w.Sessions[0].ID)
			r.stop()
			before := spawnTraces(t, p, w)
			plan := fault.NewPlan(t.TempDir())
			if err := plan.Set(x.place, fault.Kill, x.after, 1); err != nil {
				t.Fatal(err)
			}
			dead := killable(t, p.dirs, plan)
			req := r.request("POST", "http://localhost/api/v1/sessions/"+w.Sessions[0].ID+"/workers",
				api.NewWorker{Isolation: string(x.isolation), Session: api.NewSession{Command: []string{"cat"}}}, own...)
			if resp, err := (&http.Client{Transport: r.socket.Transport}).Do(req); err == nil {
				resp.Body.Close()
				t.Errorf("it answered %d", resp.StatusCode)
			}
			dead()
			if n, err := plan.Reached(x.place); err != nil || n != 1 {
				t.Fatalf("%s was reached %d times, %v", x.place, n, err)
			}
			r = p.serve(t)
			checkSpawn(t, r, w, x.isolation, x.runs)
			if !x.runs {
				if after := spawnTraces(t, p, w); after != before {
					t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
				}
			}
		})
	}
}

// A worker whose record cannot be written, because the disk is full, is not
// started, and nothing is made for it.
func TestFaultSpawnWithoutARecord(t *testing.T) {
	plan := fault.NewPlan(t.TempDir())
	t.Setenv(plan.Variable())
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
	own := r.own(w.Sessions[0].ID)
	before := spawnTraces(t, p, w)
	if err := plan.Set("tombstone/sync", fault.Full, 0, 1); err != nil {
		t.Fatal(err)
	}
	spawn := func() answer {
		return r.call("POST", "/sessions/"+w.Sessions[0].ID+"/workers",
			api.NewWorker{Isolation: string(store.IsolationWorktree), Session: api.NewSession{Command: []string{"cat"}}}, own...)
	}
	if a := spawn(); a.status < 500 || !strings.Contains(string(a.body), "no space left") {
		t.Errorf("status %d: %s", a.status, a.body)
	}
	if list := get[api.Workers](r, "GET", "/workers", nil).Workers; len(list) != 0 {
		t.Errorf("workers: %+v", list)
	}
	if after := spawnTraces(t, p, w); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	if a := spawn(); a.status >= 300 {
		t.Errorf("with room again: status %d: %s", a.status, a.body)
	}
}

// checkSpawn looks what the next server says of the worker.
func checkSpawn(t *testing.T, r *running, w api.Workspace, isolation store.Isolation, runs bool) {
	t.Helper()
	list := get[api.Workers](r, "GET", "/workers", nil).Workers
	if len(list) > 1 || runs && len(list) == 0 {
		t.Fatalf("workers: %+v", list)
	}
	for _, k := range list {
		if runs && k.State != terminal.StateRunning || !runs && (k.State != terminal.StateFailed || k.EndedAt == nil || k.Error == "") {
			t.Errorf("worker: %+v", k)
		}
	}
	for _, other := range get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces {
		mine := other.Parent == w.ID
		if other.ID != w.ID && (!mine || !runs || other.State != workspace.StateReady) {
			t.Errorf("workspace: %+v", other)
		}
	}
	if now := get[api.Session](r, "GET", "/sessions/"+w.Sessions[0].ID, nil); now.State != terminal.StateRunning {
		t.Errorf("the parent: %+v", now)
	}
	if !runs {
		return
	}
	get[api.Session](r, "DELETE", "/sessions/"+list[0].ID, nil)
	k := ended(t, get[api.Workers](r, "GET", "/sessions/"+w.Sessions[0].ID+"/workers?wait=20s", nil).Workers, list[0].ID)
	if k.Exit == nil || (isolation == store.IsolationWorktree) != (k.Left != nil) {
		t.Errorf("ended: %+v", k)
	}
}

// spawnTraces is all that a spawn could leave: branches, entries, the place in
// the scope, and what the parent has.
func spawnTraces(t *testing.T, p *place, w api.Workspace) string {
	t.Helper()
	var b strings.Builder
	for _, args := range [][]string{
		{"for-each-ref"}, {"worktree", "list", "--porcelain"}, {"-C", w.Root, "status", "--porcelain=v2", "--branch"},
	} {
		b.WriteString(gitOutput(t, p.repository, args...) + "\n")
	}
	for _, pattern := range []string{filepath.Join(w.Root, ".middleman/work/*"), filepath.Join(p.repository, ".git/worktrees/*"), filepath.Join(w.Root, "[^.]*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.Join(found, "\n") + "\n")
	}
	return b.String()
}
