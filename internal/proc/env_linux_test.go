package proc

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What shows no environment may be in the middle of its start, for a while.
func TestHasEnv(t *testing.T) {
	for _, tt := range []struct {
		name      string
		env       []string
		older     time.Duration
		has, sure bool
	}{
		{"with it", []string{"MARK=1"}, 0, true, true},
		{"with more", []string{"A=b", "MARK=12"}, 0, false, true},
		{"only in a name", []string{"XMARK=1"}, 0, false, true},
		{"after much", []string{"A=" + strings.Repeat("b", 40<<10), "MARK=1"}, 0, true, true},
		{"young and empty", []string{}, 0, false, false},
		{"old and empty", []string{}, Youth, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := Find(startCat(t, tt.env))
			if !ok {
				t.Fatal("it is not found")
			}
			p.Start -= uint64(tt.older / ticks)
			if has, sure := hasEnv(p, "MARK=1"); has != tt.has || sure != tt.sure {
				t.Errorf("has it: %t, sure: %t", has, sure)
			}
		})
	}
}

// startCat starts a program with the environment env and returns its pid once
// the program answers. Right after Start the program may still be in the middle
// of execve(2), when it shows no environment yet.
func startCat(t *testing.T, env []string) int {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.Env = env
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
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// The system's own threads have none, and are never young.
func TestKernelThreads(t *testing.T) {
	p, ok := Find(2)
	if comm, err := os.ReadFile("/proc/2/comm"); !ok || err != nil || string(comm) != "kthreadd\n" {
		t.Skip("no kernel thread is seen in this PID namespace")
	}
	p.Start += uint64(p.age() / ticks) // as if it began now
	if has, sure := hasEnv(p, "MARK=1"); has || !sure {
		t.Errorf("has it: %t, sure: %t", has, sure)
	}
}

// A look that has found nothing and is not sure of it is no end of a stop.
func TestKillGoesOnWhereALookIsUnsure(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := Find(cmd.Process.Pid)
	if !ok {
		t.Fatal("it is not found")
	}
	looks := 0
	stop := NewStop(func() ([]Process, error) {
		looks++
		if now, ok := Find(p.PID); looks > 3 && ok && !now.Dead {
			return []Process{now}, nil
		}
		return nil, nil
	})
	stop.Quiet, stop.Unsure = 2, func() bool { return looks <= 3 }
	if left := stop.Kill(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
		t.Errorf("%v, want it killed", err)
	}
}
