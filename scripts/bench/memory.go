//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/terminal"
)

const (
	maxPrivate = 2 << 10 // KiB
	maxPSS     = 5 << 10 // KiB
	// settle is how long an owner is given to come to rest.
	settle = 4 * time.Second
)

// usage is what a process takes.
type usage struct {
	private, pss int // KiB
	switches     int // context switches of all its threads
	ticks        int // of CPU time
}

// memory is what an owner takes that nobody uses, beside a running server:
// after its start, and after much output. With that it measures how long a
// viewer takes to come back.
func (b *bench) memory() error {
	if err := b.memoryOf("pty-owner", b.pick(1<<30, 100<<20)); err != nil {
		return err
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		return nil
	}
	return b.memoryOf("tmux", b.pick(100<<20, 10<<20))
}

func (b *bench) memoryOf(backend string, size int) error {
	w, err := b.server.newWorkspace(b.ctx)
	if err != nil {
		return err
	}
	defer b.server.removeWorkspace(b.ctx, w.ID)
	s, err := b.server.client.StartSession(b.ctx, w.ID, api.NewSession{Command: b.program(modeLog, size), Backend: backend, Size: b.size})
	if err != nil {
		return err
	}
	pid, err := b.server.ownerOf(s.ID)
	if err != nil {
		return err
	}
	if err := b.idle("idle "+backend, pid); err != nil {
		return err
	}
	if parent, err := parentOf(s.PID); err != nil {
		return err
	} else if parent != pid {
		if err := b.idle("its launcher in the pane", parent); err != nil {
			return err
		}
	}
	if err := b.awaitLog(s.ID, size); err != nil {
		return err
	}
	if err := b.idle(fmt.Sprintf("idle %s after %d MB of output", backend, size>>20), pid); err != nil {
		return err
	}
	return b.reattach(s.ID, backend, size)
}

// idle measures a process that has nothing to do.
func (b *bench) idle(what string, pid int) error {
	time.Sleep(settle)
	before, err := usageOf(pid)
	if err != nil {
		return err
	}
	watched := time.Duration(b.pick(10, 3)) * time.Second
	time.Sleep(watched)
	after, err := usageOf(pid)
	if err != nil {
		return err
	}
	b.kibibytes(what+", private memory", after.private, maxPrivate)
	b.kibibytes(what+", PSS", after.pss, maxPSS)
	wakes, ticks := after.switches-before.switches, after.ticks-before.ticks
	b.rows = append(b.rows, row{
		what: what + ", wake-ups", ours: fmt.Sprintf("%d in %v, %d ticks", wakes, watched, ticks),
		bar: "0", met: wakes == 0 && ticks == 0,
	})
	return nil
}

func (b *bench) kibibytes(what string, have, bar int) {
	b.rows = append(b.rows, row{
		what: what, ours: fmt.Sprintf("%.2f MiB", float64(have)/1024), bar: fmt.Sprintf("<= %d MiB", bar>>10), met: have <= bar,
	})
}

// awaitLog lets the session write its log and waits until all of it is there.
func (b *bench) awaitLog(session string, size int) error {
	conn, err := b.server.dial(b.ctx, session, "from=0&max_lag=0")
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if err := conn.Write(b.ctx, websocket.MessageBinary, []byte("g")); err != nil {
		return err
	}
	v := view{way: "WebSocket", read: (&socket{ctx: b.ctx, conn: conn}).read}
	return v.until(done(1))
}

// reattach is a viewer's way back to a full screen.
func (b *bench) reattach(session, host string, size int) error {
	backend := b.server.ownBackend(b)
	var owner, chain []time.Duration
	for range b.pick(100, 20) {
		began := time.Now()
		a, err := backend.Session(session).Attach(b.ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: b.size, Scrollback: 1000})
		if err != nil {
			return err
		}
		m, err := a.Receive()
		took := time.Since(began)
		a.Close()
		if err != nil || m.Kind != terminal.MessageSnapshot {
			return fmt.Errorf("an attachment began with message %d: %w", m.Kind, err)
		}
		owner = append(owner, took)
		if took, err = b.rejoin(session); err != nil {
			return err
		}
		chain = append(chain, took)
	}
	b.within(fmt.Sprintf("reattach to %s after %d MB, owner", host, size>>20), owner, 5*time.Millisecond)
	b.within(fmt.Sprintf("reattach to %s after %d MB, WebSocket", host, size>>20), chain, 5*time.Millisecond)
	return nil
}

// rejoin opens a WebSocket and waits for the screen.
func (b *bench) rejoin(session string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	began := time.Now()
	conn, err := b.server.dial(ctx, session, "cols=80&rows=24&takeover=1")
	if err != nil {
		return 0, err
	}
	defer conn.CloseNow()
	for {
		kind, _, err := conn.Read(ctx)
		if err != nil {
			return 0, err
		}
		if kind == websocket.MessageBinary {
			return time.Since(began), nil
		}
	}
}

// ownerOf is the process id of a session's owner.
func (s *server) ownerOf(session string) (int, error) {
	data, err := os.ReadFile(filepath.Join(s.dirs().Sessions(), session, "owner.json"))
	if err != nil {
		return 0, err
	}
	var record struct {
		PID int `json:"owner_pid"`
	}
	err = json.Unmarshal(data, &record)
	return record.PID, err
}

func parentOf(pid int) (int, error) {
	stat, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(stat[1])
}

// statFields are the fields of proc_pid_stat(5) from the third on: a name may
// hold spaces.
func statFields(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text := string(raw)
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:]), nil
}

func usageOf(pid int) (u usage, err error) {
	proc := fmt.Sprintf("/proc/%d", pid)
	memory, err := numbers(proc + "/smaps_rollup")
	if err != nil {
		return u, err
	}
	u.private = memory["Private_Clean"] + memory["Private_Dirty"]
	u.pss = memory["Pss"]
	threads, err := filepath.Glob(proc + "/task/*/status")
	if err != nil {
		return u, err
	}
	for _, thread := range threads {
		status, err := numbers(thread)
		if err != nil {
			return u, err
		}
		u.switches += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
	}
	stat, err := statFields(proc + "/stat")
	if err != nil {
		return u, err
	}
	for _, field := range stat[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			return u, err
		}
		u.ticks += n
	}
	return u, nil
}

// numbers reads the lines "name: number" of a file of proc(5).
func numbers(path string) (map[string]int, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		var n int
		if _, err := fmt.Sscan(value, &n); err == nil {
			all[name] = n
		}
	}
	return all, nil
}
