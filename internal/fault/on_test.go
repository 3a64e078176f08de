//go:build faults && unix

package fault

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func newPlan(t *testing.T) *Plan {
	p := NewPlan(t.TempDir())
	t.Setenv(p.Variable())
	return p
}

func set(t *testing.T, p *Plan, name string, action Action, after, times int) {
	t.Helper()
	if err := p.Set(name, action, after, times); err != nil {
		t.Fatal(err)
	}
}

func TestFaultErrorsByNumberUntilHealed(t *testing.T) {
	p := newPlan(t)
	set(t, p, "write/a", Full, 1, 2)
	set(t, p, "write/b", Broken, 0, 0)
	for visit, want := range []error{nil, syscall.ENOSPC, syscall.ENOSPC, nil} {
		if err := Error("write/a"); err != want {
			t.Errorf("visit %d: %v, want %v", visit, err, want)
		}
	}
	for range 3 {
		if err := Error("write/b"); err != syscall.EIO {
			t.Errorf("%v, want EIO", err)
		}
	}
	if err := p.Heal("write/b"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Error("write/b"), Error("write/never-named")); err != nil {
		t.Error(err)
	}
	if n, err := p.Reached("write/a"); n != 2 || err != nil {
		t.Errorf("acted %d times, %v", n, err)
	}
}

func TestFaultHold(t *testing.T) {
	p := newPlan(t)
	set(t, p, "x/y", Hold, 0, 0)
	passed := make(chan struct{})
	go func() {
		Here("x/y")
		close(passed)
	}()
	if pid, err := p.Await("x/y"); err != nil || pid != os.Getpid() {
		t.Fatalf("process %d, %v", pid, err)
	}
	select {
	case <-passed:
		t.Fatal("not held")
	default:
	}
	if err := p.Release("x/y"); err != nil {
		t.Fatal(err)
	}
	<-passed
}

func TestFaultKill(t *testing.T) {
	if os.Getenv("FAULT_TEST_VICTIM") != "" {
		Here("first")
		Here("second")
		return
	}
	p := newPlan(t)
	set(t, p, "first", Note, 0, 0)
	set(t, p, "second", Kill, 0, 0)
	cmd := exec.Command(os.Args[0], "-test.run=^TestFaultKill$")
	cmd.Env = append(Env(), "FAULT_TEST_VICTIM=1")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("ended with %v, want SIGKILL", err)
	}
	if n, err := p.Reached("first"); n != 1 || err != nil {
		t.Errorf("first: %d, %v", n, err)
	}
}

func TestFaultNothingWithoutAPlan(t *testing.T) {
	t.Setenv(variable, "")
	t.Setenv("GORACE", "")
	Here("x")
	if err := Error("x"); err != nil || Env() != nil {
		t.Errorf("%v, %q", err, Env())
	}
}
