//go:build faults

package ptyowner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// lab is a data directory in which one session after the other meets its
// fault, beside one that must not notice.
type lab struct {
	t          *testing.T
	data       string
	newBackend func() *ptyowner.Backend
	beside     terminal.Spec
	besidePID  int
	besideSaid string
	besideFile []byte
}

func newLab(t *testing.T) *lab {
	t.Helper()
	data := testenv.ShortDir(t)
	t.Cleanup(func() { testenv.CheckProcesses(t, data) })
	l := &lab{t: t, data: data, beside: spec("stty raw -echo; echo BESIDE; exec cat"), besideSaid: "BESIDE\n"}
	l.newBackend = func() *ptyowner.Backend {
		return newBackend(t, ptyowner.Options{
			Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run"),
		})
	}
	l.besidePID = start(t, l.newBackend(), l.beside, nil).PID
	if err := waitText(l.newBackend().Session(l.beside.ID), "BESIDE"); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.besideFile, err = os.ReadFile(l.file(l.beside.ID, "owner.json")); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) file(id, name string) string {
	return filepath.Join(l.data, "sessions", id, name)
}

// run runs one case and then looks whether the session beside is as it was.
func (l *lab) run(name string, f func(t *testing.T, b *ptyowner.Backend, p *fault.Plan)) {
	l.t.Run(strings.ReplaceAll(name, "/", "."), func(t *testing.T) {
		p := fault.NewPlan(t.TempDir())
		b := l.newBackend()
		t.Run("fault", func(t *testing.T) {
			t.Setenv(p.Variable())
			f(t, b, p)
		})
		b.Wait()
		l.checkBeside(t)
	})
}

func (l *lab) checkBeside(t *testing.T) {
	t.Helper()
	s := l.newBackend().Session(l.beside.ID)
	word := fmt.Sprintf("still here %d\n", len(l.besideSaid))
	l.besideSaid += word
	if err := s.Input(context.Background(), []byte(word)); err != nil {
		t.Fatalf("type at the session beside: %v", err)
	}
	if err := waitText(s, strings.TrimSpace(word)); err != nil {
		t.Fatalf("session beside: %v", err)
	}
	if got := output(t, s); got != l.besideSaid {
		t.Errorf("session beside has said %q, want %q", got, l.besideSaid)
	}
	if status, err := s.Status(context.Background()); err != nil || status.PID != l.besidePID || status.State != terminal.StateRunning {
		t.Errorf("session beside: %+v, %v", status, err)
	}
	if file, err := os.ReadFile(l.file(l.beside.ID, "owner.json")); err != nil || string(file) != string(l.besideFile) {
		t.Errorf("owner.json of the session beside is now %s, %v", file, err)
	}
}

// at says what happens at a place. One process is killed there: on tmux another
// owner may come after it.
func at(t *testing.T, p *fault.Plan, name string, action fault.Action) {
	t.Helper()
	times := 0
	if action == fault.Kill {
		times = 1
	}
	if err := p.Set(name, action, 0, times); err != nil {
		t.Fatal(err)
	}
}

// reached checks that a place has acted, and lets it act no more.
func reached(t *testing.T, p *fault.Plan, name string) {
	t.Helper()
	if n, err := p.Reached(name); err != nil || n == 0 {
		t.Errorf("%s was not reached, %v", name, err)
	}
	if err := p.Heal(name); err != nil {
		t.Fatal(err)
	}
}

// held waits until a process is held at a place, and lets no other be.
func held(t *testing.T, p *fault.Plan, name string) (pid int) {
	t.Helper()
	type answer struct {
		pid int
		err error
	}
	c := make(chan answer, 1)
	go func() {
		pid, err := p.Await(name)
		c <- answer{pid, err}
	}()
	a := testenv.Receive(t, time.Minute, "a process at "+name, c)
	if a.err != nil {
		t.Fatal(a.err)
	}
	reached(t, p, name)
	return a.pid
}

// oneLine checks that an error is one clear line that names the session.
func oneLine(t *testing.T, err error, id string) {
	t.Helper()
	if err == nil || strings.ContainsAny(err.Error(), "\n\x00") || !strings.Contains(err.Error(), id) {
		t.Errorf("error %q, want one line that names session %s", err, id)
	}
}

// replaced reports whether another owner goes on where one was killed while its
// program ran, and waits for it, or for the exit that it records.
func replaced(t *testing.T, s terminal.Session) bool {
	t.Helper()
	if !onTmux() {
		return false
	}
	testenv.Eventually(t, time.Minute, "another owner", func() bool {
		status, err := s.Status(context.Background())
		return err == nil && (status.State == terminal.StateRunning || status.Exit != nil)
	})
	return true
}

// gone waits for the end of a process.
func gone(t *testing.T, pid int) {
	t.Helper()
	testenv.Eventually(t, time.Minute, fmt.Sprintf("end of process %d", pid), func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// answers checks that a session of cat runs and can be reached.
func answers(t *testing.T, s terminal.Session) {
	t.Helper()
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	if err := s.Input(context.Background(), []byte("typed")); err != nil {
		t.Fatal(err)
	}
	if err := waitText(s, "READYtyped"); err != nil {
		t.Error(err)
	}
}

// ends stops a session, looks that nothing is left, and removes it.
func ends(t *testing.T, s terminal.Session) {
	t.Helper()
	ctx := context.Background()
	if err := s.Stop(ctx, 50*time.Millisecond); err != nil {
		t.Errorf("stop: %v", err)
	}
	if status, err := s.Status(ctx); err != nil || !status.State.Ended() || len(status.Left) > 0 {
		t.Errorf("after the stop: %+v, %v", status, err)
	}
	if err := s.Remove(ctx); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := s.Status(ctx); !errors.Is(err, terminal.ErrNotFound) {
		t.Errorf("after the remove: %v", err)
	}
}

// child is what runs in a process of its own, which a test may kill.
type child struct {
	Data string
	Do   string // start or stop
	Spec terminal.Spec
}

const childVariable = "MIDDLEMAN_TEST_CHILD"

// TestFaultChild is that process; by itself it does nothing.
func TestFaultChild(t *testing.T) {
	var c child
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	b := ptyowner.New(withHost(ptyowner.Options{
		Data: c.Data, Sessions: filepath.Join(c.Data, "sessions"), Runtime: filepath.Join(c.Data, "run"),
	}))
	if c.Do == "stop" {
		if err := b.Session(c.Spec.ID).Stop(context.Background(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := b.Start(context.Background(), c.Spec); err != nil {
		t.Fatal(err)
	}
}

// run starts the child in the environment of a plan.
func (c child) run(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestFaultChild$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// killed waits for a child that a place has killed.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child ended with %v, want SIGKILL", err)
	}
}

// readPID reads a process id that a program has written.
func readPID(t *testing.T, path string) (pid int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
