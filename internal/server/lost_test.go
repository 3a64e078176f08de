//go:build linux || darwin

package server_test

import (
	"bytes"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
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

// The tmux server is killed: each of its sessions is lost, which is said once,
// in the log and as an event, also by the servers that start after that.
func TestAKilledTmuxServerIsSaidOnce(t *testing.T) {
	program, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed: apt-get install tmux") // eachBackend fails where CI=true
	}
	eachBackend(t, func(t *testing.T, p *place) {
		if p.backend.Name() != "tmux" {
			t.Skip("each owner is a process of its own")
		}
		log := &keptLog{}
		to := func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }
		r := p.serve(t, to)
		w := r.workspace("lost", &api.NewSession{Command: []string{"cat"}})
		ids := []string{w.Sessions[0].ID, r.session(w, "cat").ID, r.session(w, "cat").ID}
		events := r.events(t, "", "")
		sockets, err := filepath.Glob(filepath.Join(p.dirs.Runtime, "tmux*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets of tmux: %v, %v", sockets, err)
		}
		if out, err := exec.Command(program, "-S", sockets[0], "kill-server").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		told := map[string]int{}
		lost := func(e api.Event) bool {
			if e.Session != nil && e.Session.State == terminal.StateLost {
				told[e.Session.ID]++
			}
			return len(told) == len(ids)
		}
		events.until(lost)
		// Whatever else would be told comes before this.
		mark := r.workspace("after", nil)
		events.until(func(e api.Event) bool {
			lost(e)
			return e.Workspace != nil && e.Workspace.ID == mark.ID
		})
		r.stop()
		p.serve(t, to).call("GET", "/sessions", nil)
		for _, id := range ids {
			if told[id] != 1 {
				t.Errorf("session %s: told %d times", id, told[id])
			}
			if n := log.count("level=WARN", id, "lost"); n != 1 {
				t.Errorf("session %s: logged %d times:\n%s", id, n, log.text.String())
			}
		}
	})
}
