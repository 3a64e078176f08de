package ptyowner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/terminal"
)

func init() {
	programs["inner-terminal"] = innerTerminal
	programs["vfork"] = vforkProgram
	programs["headless"] = headlessProgram
	programs["comet"] = cometProgram
	if len(os.Args) > 1 && os.Args[1] == "headless" {
		runtime.LockOSThread() // main stays on the first thread
	}
}

// innerTerminal runs a program on a terminal of its own, as script(1) does.
func innerTerminal([]string) int {
	ptmx, err := pty.Start(exec.Command("/bin/sh", "-c", `trap "" HUP TERM; echo INNER; while :; do sleep "$T"; done`))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := io.ReadAtLeast(ptmx, make([]byte, 8), 5); err != nil {
		fmt.Println(err)
		return 1
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
	fmt.Println("READY")
	io.Copy(io.Discard, ptmx)
	time.Sleep(time.Hour)
	return 0
}

// vforkProgram waits in vfork(2) for a child that neither runs another program
// nor ends, which no signal but SIGKILL interrupts.
func vforkProgram([]string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
	fmt.Println("READY")
	pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	for pid == 0 {
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	return 0
}

// headlessProgram ends its first thread, so that it looks like a zombie, and
// goes on with the others.
func headlessProgram([]string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
	go func() {
		for {
			if _, state := startOf(os.Getpid()); state == "Z" {
				fmt.Println("READY")
				time.Sleep(time.Hour)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	syscall.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return 0
}

// cometProgram leaves a process that is a new one, in a session of its own,
// each time one looks: it forks and ends, its child forks and ends, and so on.
func cometProgram([]string) int {
	signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
	fmt.Println("READY")
	const generations = 30_000 // ten seconds at least: then it ends by itself, where the test was killed too
	if pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid == 0 {
		for range generations {
			syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
			if pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
				break
			}
		}
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	time.Sleep(time.Hour)
	return 0
}

// stubborn is a process of sh that ignores what it is asked, with a name for
// when it does.
const stubborn = `stubborn() { trap "" HUP TERM; echo >"$D/$1"; while :; do sleep "$T"; done; }
	ready() { for name; do until [ -e "$D/$name" ]; do sleep 0.01; done; done; echo READY; }
	`

// battery are programs that do not want to end, each with how many processes
// it has at least.
var battery = []struct {
	name, script string
	processes    int
	// told says that a stop without an owner finds all of it.
	told bool
}{
	{"program", `echo READY; exec sleep "$T"`, 1, true},
	{"ignoring", stubborn + `stubborn a & ready a; stubborn b`, 2, true},
	{"background", `sleep "$T" & echo READY; exit_never() { wait; }; exit_never`, 2, true},
	{"nohup", `nohup sleep "$T" >/dev/null 2>&1 & until grep -q nohup "/proc/$!/cmdline" || grep -q sleep "/proc/$!/cmdline"; do :; done; echo READY; wait`, 2, true},
	{"setsid", stubborn + `export D T; setsid sh -c 'trap "" HUP TERM; echo >"$D/a"; while :; do sleep "$T"; done' & ready a; wait`, 2, true},
	{"setsid twice", stubborn + `export D T; setsid sh -c 'setsid sh -c '\''trap "" HUP TERM; echo >"$D/a"; while :; do sleep "$T"; done'\'' & exec sleep "$T"' & ready a; wait`, 3, true},
	{"double fork", stubborn + `(stubborn a &); ready a; wait; sleep "$T"`, 2, true},
	{"double fork and setsid", stubborn + `export D T; (setsid sh -c 'trap "" HUP TERM; echo >"$D/a"; while :; do sleep "$T"; done' >/dev/null 2>&1 &); ready a; sleep "$T"`, 2, true},
	{"program that ended", stubborn + `(stubborn a &); ready a; exit 3`, 1, true},
	{"stopped", `trap "" HUP; sleep "$T" & kill -STOP $!; echo READY; wait`, 2, true},
	{"terminal reopened", stubborn + `(trap "" HUP TERM; exec </dev/tty >/dev/tty 2>/dev/tty; echo >"$D/a"; while :; do sleep "$T"; done) & ready a; wait`, 2, true},
	{"terminal of its own", `exec "$EXE" inner-terminal`, 2, true},
	{"zombies", `sleep 0 & sleep 0 & sleep 0 & echo READY; exec sleep "$T"`, 1, true},
	{"vfork", `exec "$EXE" vfork`, 1, true},
	{"first thread ended", `exec "$EXE" headless`, 1, true},
	{"empty environment", `exec env -i sh -c 'cd /; sleep "$0" & echo READY; exec sleep "$0"' "$T"`, 2, false},
	{"comet", `exec "$EXE" comet`, 1, false},
}

// Nothing is left of a session that was stopped, with a grace and without.
func TestStopLeavesNothing(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	for _, tt := range battery {
		for _, grace := range []time.Duration{-1, 60 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, grace), func(t *testing.T) {
				t.Parallel()
				limit, best := grace+5*time.Second, time.Hour // a busy machine makes some of them slow
				for try := 0; try < 3 && best > limit; try++ {
					m := newTraces(t)
					session := m.run(b, tt.script)
					// One without its environment is known by what it executes.
					testenv.Eventually(t, time.Minute, fmt.Sprintf("%d processes", tt.processes), func() bool {
						return len(m.seen()) >= tt.processes
					})
					status, took := m.stop(session, grace)
					exited(t, data, status)
					best = min(best, took)
				}
				if best > limit {
					t.Errorf("the stop took %v", best)
				}
			})
		}
	}
}

// What an owner that was killed has left is found and ended as far as it can
// be told.
func TestStopOfStraysLeavesNothing(t *testing.T) {
	data, newBackend := newBackends(t)
	for _, tt := range battery {
		if !tt.told {
			continue
		}
		b := newBackend()
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newTraces(t)
			session := m.run(b, tt.script)
			status, err := session.Status(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			killOwner(t, data, b, status.ID)
			m.reapsNobody = true // an orphan is waited for by whoever adopts it
			if status, _ = m.stop(session, 60*time.Millisecond); status.State != terminal.StateLost && status.Exit == nil {
				t.Errorf("status after the stop: %+v", status)
			}
		})
	}
}

// horde is n processes that ignore what they are asked, and that do fork all
// the time, as fast as they can, once all of them are there. It ends by itself
// when the test's directory is removed.
func horde(n int, fork string) string {
	return fmt.Sprintf(`trap "" HUP TERM; mkfifo "$D/gate"
	member() { while [ -e "$D/gate" ]; do %s; done; }
	i=0; while [ $i -lt %d ]; do (: <"$D/gate"; member) & i=$((i+1)); done
	exec 9<>"$D/gate"; echo READY; sleep "$T"`, fork, n)
}

// A stop outruns five hundred processes that fork all the time. They leave so
// little of the machine to it, and to others, that its time varies; it is a
// third of a second on two idle processors.
func TestStopOfAForkBomb(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	for _, tt := range []struct {
		name, fork string
		processes  int
	}{
		{"forks", "(:)", 500},
		{"moves on", "member & exit", 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const limit = 10 * time.Second
			best := time.Hour // a busy machine makes some of them slow
			for try := 0; try < 3 && best > limit; try++ {
				m := newTraces(t)
				session := m.run(b, horde(tt.processes, tt.fork))
				status, took := m.stopOf(nil, session, -1) // a look at all of them takes longer than their stop
				exited(t, data, status)
				t.Logf("stopped in %v", took)
				best = min(best, took)
			}
			if best > limit {
				t.Errorf("the stop took %v, want at most %v", best, limit)
			}
		})
	}
}

// Five hundred processes that do nothing but ignore are stopped at once, and a
// shell in no time.
func TestStopTakesNoTime(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	for _, tt := range []struct {
		name, script string
		grace, limit time.Duration
	}{
		{"sh", `echo READY; while :; do read x; done`, 5 * time.Second, 100 * time.Millisecond},
		{"sh at once", `echo READY; while :; do read x; done`, -1, 100 * time.Millisecond},
		{"five hundred", horde(500, "sleep $T"), -1, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			best := time.Hour // a busy machine makes most of them slow
			for try := 0; try < 20 && best > tt.limit; try++ {
				m := newTraces(t)
				session := m.run(b, tt.script)
				status, took := m.stop(session, tt.grace)
				exited(t, data, status)
				best = min(best, took)
			}
			t.Logf("stopped in %v", best)
			if best > tt.limit {
				t.Errorf("the stop took %v, want at most %v", best, tt.limit)
			}
		})
	}
}

// Two stops at once both answer when nothing is left.
func TestTwoStopsAtOnce(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	m := newTraces(t)
	session := m.run(b, stubborn+`stubborn a & stubborn b & ready a b; stubborn c`)
	before := m.seen()
	var stops sync.WaitGroup
	for _, grace := range []time.Duration{100 * time.Millisecond, -1, 50 * time.Millisecond} {
		stops.Go(func() {
			if err := session.Stop(context.Background(), grace); err != nil {
				t.Errorf("stop with grace %v: %v", grace, err)
			}
			m.gone(before)
		})
	}
	stops.Wait()
	status, err := session.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	exited(t, data, status)
}

// What is no id is nobody's session: a process with it in its environment, as
// an empty one is easily, is not ended.
func TestStopOfNoID(t *testing.T) {
	_, newBackend := newBackends(t)
	id := "NO ID " + terminal.NewID("s")
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"MIDDLEMAN_SESSION=" + id}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := newBackend().Session(id).Stop(context.Background(), -1); !errors.Is(err, terminal.ErrNotFound) {
		t.Errorf("stop: %v, want %v", err, terminal.ErrNotFound)
	}
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the process has ended: %v", err)
	}
	cmd.Process.Kill()
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}
