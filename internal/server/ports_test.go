//go:build linux || darwin

package server_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/workspace"
)

// portsFrom gives workspaces blocks of two within a range of so many.
func portsFrom(first, many int) func(*server.Options) {
	return func(o *server.Options) { o.Ports = store.PortRange{First: first, Last: first + many - 1, Count: 2} }
}

// makeIn makes a workspace of a mode and waits until it is ready.
func (r *running) makeIn(name string, mode workspace.Mode) api.Workspace {
	r.t.Helper()
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: r.place.repository, Mode: mode})
	w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	if w.State != workspace.StateReady {
		r.t.Fatalf("workspace is %s: %s", w.State, w.Error)
	}
	return w
}

func stageDetail(w api.Workspace, name string) string {
	for _, stage := range w.Stages {
		if stage.Name == name {
			return stage.State + " " + stage.Detail
		}
	}
	return ""
}

func TestPorts(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t, portsFrom(20000, 8))
	busy, err := net.Listen("tcp", "127.0.0.1:20002")
	if err != nil {
		t.Skip("port 20002 is in use here")
	}
	defer busy.Close()

	one, two := r.makeIn("one", workspace.ModeWorktree), r.makeIn("two", workspace.ModeDirectory)
	here := r.makeIn("here", workspace.ModeInPlace)
	if one.Port != 20000 || one.Ports != 2 || two.Port != 20003 || two.Ports != 2 || here.Ports != 0 {
		t.Errorf("one %d, two %d, here %d: %d behind a listener", one.Port, two.Port, here.Port, here.Ports)
	}
	s := r.session(one, "sh", "-c", "echo port $MIDDLEMAN_WORKSPACE_PORT of $MIDDLEMAN_WORKSPACE_PORTS")
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	if out := string(r.call("GET", "/sessions/"+s.ID+"/output", nil).body); !strings.Contains(out, "port 20000 of 2") {
		t.Errorf("a session has %q", out)
	}
	three := r.makeIn("three", workspace.ModeDirectory)
	four := r.makeIn("four", workspace.ModeDirectory)
	if detail := stageDetail(four, "ports"); three.Port != 20005 || four.Ports != 0 || !strings.HasPrefix(detail, "done "+workspace.Skipped) {
		t.Errorf("three %d, four %d: %s", three.Port, four.Port, detail)
	}

	// They are kept over a restart, and free after a delete.
	r.stop()
	r = p.serve(t, portsFrom(20000, 8))
	if again := get[api.Workspace](r, "GET", "/workspaces/"+two.ID, nil); again.Port != two.Port {
		t.Errorf("after a restart: %d", again.Port)
	}
	write(t, two.Path+"/note", "work\n")
	get[api.Deleted](r, "DELETE", "/workspaces/"+two.ID+"?discard_work=1", nil)
	five := r.makeIn("five", workspace.ModeDirectory)
	if five.Port != two.Port {
		t.Errorf("five %d, want %d", five.Port, two.Port)
	}
	restored := get[api.Restored](r, "POST", "/workspaces/"+two.ID+"/restore", nil)
	if restored.Workspace.Ports != 0 || !strings.Contains(strings.Join(restored.Warnings, "\n"), "it has none") {
		t.Errorf("restored: %d, %q", restored.Workspace.Port, restored.Warnings)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+two.ID+"?discard_work=1", nil)
}

// A workspace that comes back gets its ports again, or others.
func TestPortsOfARestore(t *testing.T) {
	r := newPlace(t).serve(t, portsFrom(20100, 8))
	w := r.makeIn("w", workspace.ModeDirectory)
	remove := func(w api.Workspace) {
		write(t, w.Path+"/note", "work\n")
		get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
	}
	remove(w)
	restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if restored.Workspace.Port != w.Port || len(restored.Warnings) != 0 {
		t.Errorf("restored: %d, %q", restored.Workspace.Port, restored.Warnings)
	}
	remove(w)
	other := r.makeIn("other", workspace.ModeDirectory)
	restored = get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil)
	if got := restored.Workspace; other.Port != w.Port || got.Port == other.Port || got.Ports != 2 || len(restored.Warnings) != 1 {
		t.Errorf("other %d, restored: %d, %q", other.Port, got.Port, restored.Warnings)
	}
}

func TestPortsOfManyAtOnce(t *testing.T) {
	r := newPlace(t).serve(t, portsFrom(20200, 64))
	var mu sync.Mutex // guards owner
	owner := map[int]string{}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			w := r.makeIn(fmt.Sprintf("w%d", i), workspace.ModeDirectory)
			mu.Lock()
			defer mu.Unlock()
			for port := w.Port; port < w.Port+w.Ports; port++ {
				if owner[port] != "" {
					t.Errorf("port %d is of %s and %s", port, owner[port], w.Name)
				}
				owner[port] = w.Name
			}
		})
	}
	wg.Wait()
	if len(owner) != 32 {
		t.Errorf("%d ports were given out, want 32", len(owner))
	}
}
