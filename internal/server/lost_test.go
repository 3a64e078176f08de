//go:build linux || darwin

package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/testenv"
	"middleman/terminal"
)

// keptLog is a log that can be read back.
type keptLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *keptLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *keptLog) count(words ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

// losing starts three sessions, has end end them and looks that each is told
// once to be in state then. A server that starts after that tells none.
func losing(t *testing.T, p *place, state terminal.State, end func(ids []string)) (ids []string, log *keptLog) {
	log = &keptLog{}
	to := func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }
	r := p.serve(t, to)
	w := r.workspace("lost", &api.NewSession{Command: []string{"cat"}})
	ids = []string{w.Sessions[0].ID, r.session(w, "cat").ID, r.session(w, "cat").ID}
	events := r.events(t, "", "")
	end(ids)
	told := map[string]int{}
	is := func(e api.Event) bool {
		if e.Session != nil && e.Session.State == state {
			told[e.Session.ID]++
		}
		return len(told) == len(ids)
	}
	events.until(is)
	// Whatever else would be told comes before this.
	mark := r.workspace("after", nil)
	events.until(func(e api.Event) bool {
		is(e)
		return e.Workspace != nil && e.Workspace.ID == mark.ID
	})
	r.stop()
	p.serve(t, to).call("GET", "/sessions", nil)
	for _, id := range ids {
		if told[id] != 1 {
			t.Errorf("session %s: told %d times to be %s", id, told[id], state)
		}
	}
	return ids, log
}

// Owners are killed, in panes with what would start others: each session is
// lost, which is said once, in the log and as an event, also by the servers that
// start after that.
func TestALostSessionIsSaidOnce(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		ids, log := losing(t, p, terminal.StateLost, func(ids []string) {
			for _, id := range ids {
				p.loseOwner(t, id)
			}
		})
		for _, id := range ids {
			if n := log.count("level=WARN", id, "lost"); n != 1 {
				t.Errorf("session %s: logged %d times:\n%s", id, n, log.text.String())
			}
		}
	})
}

// loseOwner kills a session's owner and, in a pane, the launcher before it.
func (p *place) loseOwner(t *testing.T, id string) {
	t.Helper()
	hosts := p.hosts(t, id)
	if err := testenv.Freeze(hosts[1]); err != nil {
		t.Fatal(err)
	}
	for _, pid := range hosts {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// hosts returns the processes that host the program of a running session: its parent,
// which in a pane is what would start another owner, and the owner.
func (p *place) hosts(t *testing.T, id string) []int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dirs.Sessions(), id, "owner.json"))
	if err != nil {
		t.Fatal(err)
	}
	var owner struct {
		PID int `json:"owner_pid"`
	}
	if err := json.Unmarshal(raw, &owner); err != nil {
		t.Fatal(err)
	}
	status, err := p.backend.Session(id).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(status.PID)).Output()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return []int{parent, owner.PID}
}

// The tmux server is killed: each of its programs is hung up, which is an exit
// and is told once.
func TestAKilledTmuxServerEndsItsSessions(t *testing.T) {
	program := testenv.RequireTool(t, "tmux")
	eachBackend(t, func(t *testing.T, p *place) {
		if p.backend.Name() != "tmux" {
			t.Skip("there is no server")
		}
		ids, log := losing(t, p, terminal.StateExited, func([]string) {
			out, err := exec.Command(program, "-S", filepath.Join(p.dirs.Runtime, "tmux.sock"), "kill-server").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
		for _, id := range ids {
			status, err := p.backend.Session(id).Status(t.Context())
			if err != nil || status.Exit == nil || status.Exit.Signal != int(syscall.SIGHUP) {
				t.Errorf("session %s: %+v, %v, want it ended by SIGHUP", id, status, err)
			}
			if n := log.count(id, "lost"); n != 0 {
				t.Errorf("session %s: logged as lost:\n%s", id, log.text.String())
			}
		}
	})
}

// An agent that was lost needs its user, which is told at once, until another session is
// started in its place.
func TestALostAgentNeedsItsUser(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t)
		w := r.workspace("lost", &api.NewSession{Command: []string{"cat"}})
		s := w.Sessions[0]
		if err := r.store.SetConversation(t.Context(), s.ID, "c"); err != nil {
			t.Fatal(err)
		}
		if a := r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}, Restarts: s.ID}); a.status != 422 {
			t.Errorf("in the place of a session that runs: %d %s", a.status, a.body)
		}
		events := r.events(t, "", "")
		p.loseOwner(t, s.ID)
		events.until(func(e api.Event) bool {
			return e.Session != nil && e.Session.ID == s.ID && e.Session.Attention.Group == "needs-you" && e.Session.Attention.State == "lost, can be resumed"
		})
		get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"cat"}, Restarts: s.ID})
		events.until(func(e api.Event) bool {
			return e.Session != nil && e.Session.ID == s.ID && e.Session.Attention.Group == "ended" && e.Session.Attention.State == "lost"
		})
	})
}
