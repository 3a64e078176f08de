package ptyowner_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"middleman/internal/systemd"
	"middleman/ptyowner"
	"middleman/terminal"
)

// output is all that a session has printed.
func output(t *testing.T, session terminal.Session) string {
	t.Helper()
	r, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Who ends in good order has the grace for it, what it starts to do so is left
// alone, and what it says last is kept. Without a grace nobody is asked.
func TestStopIsPolite(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	const slow = `trap 'sleep 1000; echo IN GOOD ORDER; exit 7' TERM; trap '' HUP; echo READY; while :; do sleep 0.02; done`
	const polite = `trap 'sleep 0.3; echo IN GOOD ORDER; exit 7' TERM; trap '' HUP; echo READY; while :; do sleep 0.02; done`
	for _, tt := range []struct {
		name, script string
		grace        time.Duration
		code, signal int
		last         bool
	}{
		{"program", polite, time.Minute, 7, 0, true},
		{"foreground job", `trap : HUP TERM; set -m; sh -c "$JOB"; exit 8`, time.Minute, 8, 0, true},
		{"stopped", `trap 'echo IN GOOD ORDER; exit 7' TERM; trap '' HUP; echo READY; kill -STOP $$; while :; do sleep 0.02; done`, time.Minute, 7, 0, true},
		{"at once", polite, -1, -1, 9, false},
		{"too late", slow, 50 * time.Millisecond, -1, 9, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newTraces(t)
			session := m.run(b, "JOB='"+strings.ReplaceAll(polite, "'", `'\''`)+"'; "+tt.script)
			status, _ := m.stop(session, tt.grace)
			exited(t, data, status)
			if e := status.Exit; e.Signal != tt.signal || e.Code != tt.code {
				t.Errorf("exit %+v, want code %d, signal %d", e, tt.code, tt.signal)
			}
			if text := output(t, session); strings.Contains(text, "IN GOOD ORDER") != tt.last {
				t.Errorf("output %q", text)
			}
		})
	}
}

// startInScope starts a session whose owner is in a scope as systemd makes them,
// which must be empty in the end.
func startInScope(t *testing.T, b *ptyowner.Backend, s terminal.Spec) (scope string) {
	t.Helper()
	const mount = "/sys/fs/cgroup/unified"
	if own, err := os.ReadFile("/proc/self/cgroup"); err != nil || !strings.HasSuffix(string(own), "0::/\n") {
		t.Skipf("this process is not at the root of a hierarchy of version 2: %s", own)
	}
	scope = filepath.Join(mount, systemd.SessionScope(s.ID))
	if err := os.Mkdir(scope, 0o755); err != nil {
		t.Skipf("no cgroup to be had: %v", err)
	}
	move := func(to string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		b.Wait()
		if err := os.Remove(scope); err != nil {
			t.Errorf("the owner has left something in its scope: %v", err)
		}
	})
	move(scope)
	start(t, b, s, nil)
	move(mount)
	return scope
}

// In a scope of its own the session has what is in that as well, and what is
// cut off from it otherwise is found.
func TestStopInAScope(t *testing.T) {
	if onTmux() {
		t.Skip("a program in a pane is in no scope of its session")
	}
	data, newBackend := newBackends(t)
	m := newTraces(t)
	s := m.spec(stubborn + `stubborn a & ready a; stubborn b`)
	b := newBackend()
	scope := startInScope(t, b, s)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	procs, err := os.ReadFile(filepath.Join(scope, "program", "cgroup.procs"))
	if err != nil || len(strings.Fields(string(procs))) < 2 {
		t.Errorf("in the program's cgroup: %q, %v", procs, err)
	}
	status, _ := m.stop(session, -1)
	exited(t, data, status)
}
