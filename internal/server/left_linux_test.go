package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/api"
	"middleman/internal/sandbox"
	"middleman/terminal"
	"middleman/workspace"
)

// hides is a script that leaves a process without a mark and without a parent, and ends
// once there is a file end.
const hides = `(env -i setsid sh -c ': >there; exec sleep 1000' >/dev/null 2>&1 </dev/null &)
until [ -e there ] && [ -e end ]; do sleep .01; done; rm there end`

// hideLeft starts a sandboxed session in w that leaves a process, and ends it and then
// what hosted it: nobody has a way to the process by its parents or its environment.
func (r *running) hideLeft(p *place, w api.Workspace, name string) api.Session {
	r.t.Helper()
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Name: name, Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", hides}})
	hosts := p.hosts(r.t, s.ID)
	write(r.t, filepath.Join(w.Root, "end"), "")
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	for _, pid := range hosts {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			r.t.Fatal(err)
		}
	}
	r.until("the owner has ended", func() bool {
		status, err := p.backend.Session(s.ID).Status(r.t.Context())
		return err == nil && status.Source == terminal.SourceDisk
	})
	return s
}

// sleeper returns the process that the session has left, by what the server says.
func (r *running) sleeper(s api.Session) (pid int) {
	r.t.Helper()
	var now api.Session
	r.until("what is left is shown", func() bool {
		now = get[api.Session](r, "GET", "/sessions/"+s.ID, nil)
		for _, pid = range now.Left {
			if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && string(raw) == "sleep\x001000\x00" {
				return true
			}
		}
		return false
	})
	if now.State != terminal.StateExited || now.Attention.State != "exited (0), has left processes" {
		r.t.Errorf("it is shown as %s, %q", now.State, now.Attention.State)
	}
	return pid
}

// runs reports whether a process runs.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Whatever has ended of a session, what its program has left in the sandbox is found: it
// is shown, keeps a workspace from a delete and a checkout from a merge, and a stop and a
// delete end it.
func TestHiddenLeftovers(t *testing.T) {
	t.Parallel() // it waits most of the time
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t)
		w := r.workspace("w", nil)
		git(t, w.Root, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", "more")
		here := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "here", Directory: p.repository, Mode: workspace.ModeInPlace}).Workspace
		here = get[api.Workspace](r, "GET", "/workspaces/"+here.ID+"?wait=60s", nil)
		s := r.hideLeft(p, here, "left")
		pid := r.sleeper(s)
		r.stop()
		r = p.serve(t)
		if again := r.sleeper(s); again != pid {
			t.Errorf("another server finds process %d, want %d", again, pid)
		}

		path := "/workspaces/" + here.ID
		dry := get[api.Deleted](r, "DELETE", path+"?dry_run=1", nil)
		if len(dry.Stopped) != 1 || !slices.Contains(dry.Stopped[0].Left, pid) {
			t.Errorf("a delete would stop %+v", dry.Stopped)
		}
		refusedAs(t, "delete", r.call("DELETE", path, nil), api.CodeSessionsRun)
		a := r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{})
		if problem := a.problem(t); problem.Code != api.CodeBusy || !strings.Contains(problem.Detail, "what it has left still runs: stop that first (`middleman stop here/left`)") {
			t.Errorf("merge: %+v", problem)
		}
		if !runs(pid) {
			t.Fatal("what was left has ended by itself")
		}

		if now := get[api.Session](r, "DELETE", "/sessions/"+s.ID+"?keep=1", nil); len(now.Left) > 0 || now.Attention.State != "exited (0)" {
			t.Errorf("after the stop: left %v, %q", now.Left, now.Attention.State)
		}
		// Who was killed has no environment and no lock any more, and is a zombie soon.
		gone := func() bool { return !runs(pid) }
		r.until("end of what was left, after a stop", gone)
		get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{})

		s = r.hideLeft(p, here, "removed")
		pid = r.sleeper(s)
		get[api.Session](r, "DELETE", "/sessions/"+s.ID, nil)
		r.until("end of what was left, after the removal of the session", gone)
		s = r.hideLeft(p, here, "last")
		pid = r.sleeper(s)
		get[api.Deleted](r, "DELETE", path+"?stop_sessions=1", nil)
		r.until("end of what was left, after a delete", gone)
	})
}

// The control: an owner that is killed ends no program in a sandbox. In a pane another
// owner goes on; otherwise, or if that cannot be, the session is lost, and a stop ends what
// runs.
func TestSandboxOutlivesItsOwner(t *testing.T) {
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t)
		w := r.workspace("w", nil)
		s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "trap '' HUP; : >there; sleep 1000; :"}})
		r.until("it runs", func() bool { _, err := os.Lstat(filepath.Join(w.Root, "there")); return err == nil })
		status, err := p.backend.Session(s.ID).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if hosts := p.hosts(t, s.ID); p.backend.Name() == "tmux" {
			if err := syscall.Kill(hosts[1], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.until("another owner goes on", func() bool {
				now, err := p.backend.Session(s.ID).Status(t.Context())
				return err == nil && now.State == terminal.StateRunning && now.PID == status.PID && p.hosts(t, s.ID)[1] != hosts[1]
			})
		}
		p.loseOwner(t, s.ID)
		var now api.Session
		r.until("it is lost", func() bool {
			now = get[api.Session](r, "GET", "/sessions/"+s.ID, nil)
			return now.State == terminal.StateLost && len(now.Left) > 0
		})
		if !runs(status.PID) || !strings.HasSuffix(now.Error, "still run: a stop ends them") {
			t.Errorf("process %d runs: %t, %q", status.PID, runs(status.PID), now.Error)
		}
		get[api.Session](r, "DELETE", "/sessions/"+s.ID+"?keep=1", nil)
		for _, pid := range append(now.Left, status.PID) {
			if runs(pid) {
				t.Errorf("the stop left process %d", pid)
			}
		}
	})
}
