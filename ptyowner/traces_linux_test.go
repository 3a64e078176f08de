package ptyowner_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"middleman/ptyowner"
	"middleman/terminal"
)

// traces tell a session's processes by what only they have: a variable, a
// working directory and a part of their arguments. It is another way than the
// one by which a stop finds them.
type traces struct {
	t    *testing.T
	dir  string // as working directory or in the arguments
	unit string // in the environment or in the arguments

	reapsNobody bool // zombies do not count
}

func newTraces(t *testing.T) traces {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return traces{t: t, dir: dir, unit: fmt.Sprintf("1000.%018d", rand.Int64N(1e18))}
}

// spec is a session of sh, for whose script $T is a time to sleep that nobody
// else sleeps, $D a directory of its own and $EXE the test binary.
func (m traces) spec(script string) terminal.Spec {
	exe, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	s := spec(script)
	s.Env = append(s.Env, "T="+m.unit, "D="+m.dir, "EXE="+exe)
	s.Dir = m.dir
	return s
}

// trace is one process that was seen.
type trace struct {
	pid   int
	start string // with pid, which it is
	what  string
}

// seen lists all processes that have a trace.
func (m traces) seen() []trace {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		m.t.Fatal(err)
	}
	var all []trace
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := "/proc/" + e.Name()
		start, state := startOf(pid)
		if state == "Z" { // its first thread has ended; it lives if others have not
			proc = otherThread(proc)
		}
		environ, _ := os.ReadFile(proc + "/environ") // what is going has none
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		cwd, _ := os.Readlink(proc + "/cwd")
		if !bytes.Contains(environ, []byte(m.unit)) && !bytes.Contains(cmdline, []byte(m.unit)) &&
			!bytes.Contains(cmdline, []byte(m.dir)) && cwd != m.dir {
			continue
		}
		all = append(all, trace{pid, start, state + " " + strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))})
	}
	return all
}

// otherThread is where /proc shows a process's last thread.
func otherThread(proc string) string {
	threads, err := os.ReadDir(proc + "/task")
	if err != nil || len(threads) < 2 {
		return proc
	}
	return proc + "/task/" + threads[len(threads)-1].Name()
}

// startOf is when a process started and its state, "" where it is gone.
func startOf(pid int) (start, state string) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[19], fields[0]
}

// gone fails the test for each process that has a trace, or that had one
// before and is there still, be it as a zombie.
func (m traces) gone(before []trace) {
	m.t.Helper()
	left := m.seen()
	for _, p := range before {
		start, state := startOf(p.pid)
		if start == p.start && !slices.ContainsFunc(left, func(q trace) bool { return q.pid == p.pid }) {
			left = append(left, trace{p.pid, start, state + " "})
		}
	}
	for _, p := range left {
		if !m.reapsNobody || !p.ending() {
			m.t.Errorf("process %d is left: %s", p.pid, p.what)
		}
	}
}

// ending reports whether a process that has given up its memory, and with it its
// arguments, comes to its end: a stop cannot tell whose it was.
func (p trace) ending() bool {
	if state, args, _ := strings.Cut(p.what, " "); state != "Z" && args != "" {
		return false
	}
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if start, state := startOf(p.pid); start != p.start || state == "Z" {
			return true
		}
	}
	return false
}

// end ends, one by one, what a test that failed has left.
func (m traces) end() {
	for _, seen := range m.seen() {
		p, err := os.FindProcess(seen.pid)
		if start, _ := startOf(seen.pid); err == nil && start == seen.start {
			m.t.Logf("end what the test has left: process %d, %s", seen.pid, seen.what)
			_ = p.Kill() // gone meanwhile
		}
	}
}

// run starts a session of the script and waits until it has printed READY.
func (m traces) run(b *ptyowner.Backend, script string) terminal.Session {
	m.t.Helper()
	m.t.Cleanup(m.end) // after the session's own
	s := m.spec(script)
	start(m.t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		m.t.Fatal(err)
	}
	return session
}

// stop stops the session, checks that nothing is left and the exit is
// recorded, and returns how long it took.
func (m traces) stop(session terminal.Session, grace time.Duration) (status terminal.Status, took time.Duration) {
	m.t.Helper()
	return m.stopOf(m.seen(), session, grace)
}

// stopOf is stop, where the processes that were seen before are known.
func (m traces) stopOf(before []trace, session terminal.Session, grace time.Duration) (status terminal.Status, took time.Duration) {
	m.t.Helper()
	began := time.Now()
	if err := session.Stop(context.Background(), grace); err != nil {
		m.t.Fatal(err)
	}
	took = time.Since(began)
	m.gone(before)
	var err error
	if status, err = session.Status(context.Background()); err != nil {
		m.t.Fatal(err)
	}
	if len(status.Left) > 0 {
		m.t.Errorf("status tells of processes that are left: %v", status.Left)
	}
	return status, took
}

// exited checks that the exit is on disk.
func exited(t *testing.T, data string, status terminal.Status) {
	t.Helper()
	if status.State != terminal.StateExited || status.Exit == nil {
		t.Errorf("status after the stop: %+v", status)
	}
	if _, err := os.Stat(filepath.Join(data, "sessions", status.ID, "exit.json")); err != nil {
		t.Errorf("exit record: %v", err)
	}
}

// killOwner ends the session's owner the hard way.
func killOwner(t *testing.T, data string, b *ptyowner.Backend, id string) {
	t.Helper()
	loseOwner(t, data, id)
	b.Wait()
}
