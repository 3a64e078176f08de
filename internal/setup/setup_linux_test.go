package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func spec(t *testing.T, commands ...string) Spec {
	dir := t.TempDir()
	return Spec{
		Commands: commands, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "GIVEN=yes"},
		Mark: "SETUP_TEST=" + dir, Log: filepath.Join(t.TempDir(), "logs", "log"), Timeout: time.Minute,
	}
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		commands []string
		last     string
		wantErr  string
	}{
		{"nothing", nil, "", ""},
		{"where and with what", []string{"pwd | grep -c TestRun; echo $GIVEN; echo ${HOME:-no home}"}, "1 / yes / no home", ""},
		{"one after the other", []string{"echo one >file", "cat file; echo two >&2"}, "one / two", ""},
		{"the first that fails is the last", []string{"echo one", "echo two; exit 3", "echo three"}, "one / two", `"echo two; exit 3": exit status 3`},
		{"killed", []string{"kill -9 $$"}, "", "signal: killed"},
		{"no input", []string{"cat"}, "", ""},
		{"what a terminal would act on", []string{`printf 'a\033[31mred\007\r\n\377\n'`}, "a[31mred / ?", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := spec(t, tt.commands...)
			last, err := Run(t.Context(), s)
			if last != tt.last || (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%q, %v, want %q, %q", last, err, tt.last, tt.wantErr)
			}
			if info, err := os.Stat(s.Log); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("log: %v, %v", info, err)
			}
		})
	}
}

// The last line of what runs is told while it runs.
func TestTell(t *testing.T) {
	s := spec(t, "echo first; echo; printf second", "echo third; read go <fifo")
	fifo := filepath.Join(s.Dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 100)
	s.Tell = func(line string) { told <- line }
	ran := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), s)
		ran <- err
	}()
	for line := range told {
		if line == "third" {
			break
		}
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Error(err)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// pidIn waits until a command has written its pid.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
	}
	t.Fatalf("%s was not written", file)
	return 0
}

func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// Whatever a command leaves in the background is ended, and does not keep us.
func TestNothingOutlives(t *testing.T) {
	for name, command := range map[string]string{
		"a job":              "sleep 1000 & echo $! >pid",
		"nohup":              "nohup sleep 1000 >/dev/null 2>&1 & echo $! >pid",
		"a session":          "setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! test -s pid; do sleep 0.01; done",
		"a daemon":           "setsid sh -c '(echo $$ >pid; exec sleep 1000) & exit' & while ! test -s pid; do sleep 0.01; done",
		"a job of a failure": "sleep 1000 & echo $! >pid; exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, command)
			began := time.Now()
			_, err := Run(t.Context(), s)
			if (err != nil) != strings.Contains(name, "failure") {
				t.Error(err)
			}
			if pid := pidIn(t, filepath.Join(s.Dir, "pid")); lives(pid) {
				t.Errorf("process %d lives", pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// What forks all the time, in sessions of its own, is outrun.
func TestNothingOutrunsTheEnd(t *testing.T) {
	s := spec(t, `mkfifo gate; cat >runner <<'EOF'
[ $2 -lt 100000 ] || exit # where the test was killed
while [ -e "$1" ]; do setsid sh "$0" "$1" $(($2+1)) & exit; done
EOF
for i in 1 2 3 4 5 6 7 8; do setsid sh "$PWD/runner" "$PWD/gate" 0 & done; sleep 0.2`)
	if _, err := Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for look := range 5 { // they would have moved on
		all, err := proc.All()
		if err != nil {
			t.Fatal(err)
		}
		for pid, p := range all {
			if cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); !p.Dead && strings.Contains(string(cmdline), s.Dir) {
				t.Fatalf("look %d: process %d lives: %q", look, pid, cmdline)
			}
		}
	}
}

func TestTimeIsUp(t *testing.T) {
	var s Spec
	var last string
	for _, timeout := range []time.Duration{300 * time.Millisecond, 3 * time.Second, 30 * time.Second} { // within which it begins
		var err error
		s = spec(t, "sleep 1000 & echo $! >pid; echo begun; wait", "echo never")
		s.Timeout = timeout
		last, err = Run(t.Context(), s)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "after "+timeout.String()) {
			t.Errorf("%q, %v", last, err)
		}
		if last == "begun" {
			break
		}
	}
	if last != "begun" {
		t.Fatalf("it has said %q", last)
	}
	if pid := pidIn(t, filepath.Join(s.Dir, "pid")); lives(pid) {
		t.Errorf("process %d lives", pid)
	}
}

func TestCancelled(t *testing.T) {
	s := spec(t, "echo $$ >pid; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Run(ctx, s)
		done <- err
	}()
	pid := pidIn(t, filepath.Join(s.Dir, "pid"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || lives(pid) {
		t.Errorf("%v, process %d lives: %t", err, pid, lives(pid))
	}
}

func TestLogIsBounded(t *testing.T) {
	s := spec(t, "yes 0123456789012345678901234567890123456789012345678 | head -c 9000000; echo; echo the end")
	last, err := Run(t.Context(), s)
	if err != nil || !strings.HasSuffix(last, "the end") || len(last) > maxLast+3 {
		t.Errorf("%q, %v", last, err)
	}
	kept, err := ReadLog(s.Log)
	if err != nil || len(kept) > 2*maxLog || len(kept) < maxLog || !strings.HasSuffix(string(kept), "\nthe end\n") {
		t.Errorf("%d bytes, %v", len(kept), err)
	}
	if err := RemoveLog(s.Log); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(s.Log)); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
