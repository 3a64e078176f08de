package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// recorder takes what a check reports.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestCheckProcessesNamesAndEndsWhatIsLeft(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc here")
	}
	for _, tt := range []struct {
		name string
		mark func(cmd *exec.Cmd, dir string)
	}{
		{"environment", func(cmd *exec.Cmd, dir string) { cmd.Env = []string{"MIDDLEMAN_HOME=" + dir} }},
		{"working directory", func(cmd *exec.Cmd, dir string) { cmd.Dir = dir }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // what is left is given its time to end
			dir := ShortDir(t)
			cmd := exec.Command(RequireTool(t, "sleep"), "1000")
			tt.mark(cmd, dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r := &recorder{TB: t}
			CheckProcesses(r, dir)
			err := cmd.Wait()
			if len(r.errors) != 1 || !strings.Contains(r.errors[0], "sleep 1000") {
				t.Errorf("reported %q", r.errors)
			}
			if err == nil {
				t.Error("the process was not ended")
			}
			CheckProcesses(t, dir)
		})
	}
}

func TestRepo(t *testing.T) {
	r := NewRepo(t)
	first := r.Git("rev-parse", "HEAD")
	r.Write("a/b", "x\n")
	second := r.Commit("second")
	if first == second || r.Git("status", "--porcelain") != "" {
		t.Errorf("commits %s, %s", first, second)
	}
	if got := r.Git("rev-parse", "--show-toplevel"); filepath.Clean(got) != r.Dir && runtime.GOOS != "windows" {
		t.Errorf("top %s, want %s", got, r.Dir)
	}
}

func TestTmuxSocketEndsTheServer(t *testing.T) {
	var socket string
	t.Run("start", func(t *testing.T) {
		socket = TmuxSocket(t)
		out, err := exec.Command("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "sleep 60").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	if socket != "" {
		CheckProcesses(t, filepath.Dir(socket))
	}
}

func TestEventuallyAndReceive(t *testing.T) {
	c := make(chan int, 1)
	c <- 7
	if got := Receive(t, time.Second, "a number", c); got != 7 {
		t.Errorf("got %d", got)
	}
	calls := 0
	Eventually(t, time.Second, "three calls", func() bool { calls++; return calls == 3 })
}
