package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal goes to the process that was looked at, never to another that has
// its pid by now.
func TestSignalVerifiesIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := Find(cmd.Process.Pid)
	if !ok || p.Parent != os.Getpid() || p.Group != p.PID {
		t.Fatalf("found %+v, %v", p, ok)
	}
	earlier := p
	earlier.Start-- // what had the pid before
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		if err := signal(earlier, sig); !errors.Is(err, unix.ESRCH) {
			t.Errorf("%v to a process that is gone: %v, want %v", sig, err, unix.ESRCH)
		}
	}
	StopGroup(earlier)
	if now, ok := Find(p.PID); !ok || now.Dead {
		t.Error("whoever has the pid now was signalled")
	}
	if err := signal(p, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the process itself: %v, want it killed", err)
	}
	if err := signal(p, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("after its end: %v, want %v", err, unix.ESRCH)
	}
}

// Who descends from a process is told by start times too, so that a pid that
// was used again makes nobody a descendant.
func TestDescendants(t *testing.T) {
	table := Table{}
	for _, p := range []Process{
		{PID: 1, Start: 1},
		{PID: 10, Parent: 1, Start: 50},              // the owner
		{PID: 11, Parent: 10, Start: 60},             // its program
		{PID: 12, Parent: 11, Start: 70},             // a child
		{PID: 13, Parent: 12, Start: 80, Dead: true}, // its zombie
		{PID: 5, Parent: 12, Start: 90},              // pids have wrapped
		{PID: 20, Parent: 1, Start: 40},              // somebody else's
		{PID: 21, Parent: 11, Start: 55},             // whose parent's pid is the program's now
		{PID: 30, Parent: 1, Start: 45},              // in the cgroup
		{PID: 31, Parent: 30, Start: 46},
	} {
		table[p.PID] = p
	}
	var got []int
	for _, p := range table.Below(10, map[int]bool{30: true}) {
		got = append(got, p.PID)
	}
	want := []int{30, 31, 11, 12, 13, 5}
	if len(got) != len(want) {
		t.Fatalf("descendants %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("descendants %v, want %v", got, want)
		}
	}
	found := table.Without(table.Below(10, nil), func(p Process) bool { return p.PID == 12 })
	if pids := PIDs(found); len(pids) != 1 || pids[0] != 11 {
		t.Errorf("without 12 and what is below: %v, want 11", pids)
	}
	if !table.torn() {
		t.Error("a process hangs from one that is younger, and the look counts as whole")
	}
}

// A process that was waited for shows, also one that did nothing.
func TestWaitedFor(t *testing.T) {
	before := WaitedFor(os.Getpid())
	for range 3 {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
		now := WaitedFor(os.Getpid())
		if now <= before {
			t.Fatalf("%d before a child was waited for, %d after", before, now)
		}
		before = now
	}
	if n := WaitedFor(-1); n != 0 {
		t.Errorf("%d of no process", n)
	}
}

// A script is called by its own name, whatever runs it; an interpreter that runs none by its.
func TestProgramOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const wait = "$| = 1; print 1; sleep 1000"
	script := write("agent", "#!/usr/bin/env perl\n"+wait)
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{script}, "agent"},
		{[]string{"perl", script, "argument"}, "agent"},
		{[]string{"perl", "-e", wait}, "perl"},
		{[]string{"perl", "-e", `$0 = "gemini"; ` + wait}, "gemini"},
		{[]string{write("tool", "#!/bin/sh\necho 1; read x")}, "tool"},
	} {
		cmd := exec.Command(tt.argv[0], tt.argv[1:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if got := programOf(cmd.Process.Pid); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.argv, got, tt.want)
		}
		_ = cmd.Process.Kill()
		in.Close()
		_ = cmd.Wait()
	}
	if got := programOf(1 << 30); got != "" {
		t.Errorf("no process: %q", got)
	}
}
