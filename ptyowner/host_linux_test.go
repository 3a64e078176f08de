package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/tmux"
)

// parentOf is a process's parent.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// onPane starts a session in a pane, whatever host the other tests run on.
func onPane(t *testing.T, script string) (data string, s terminal.Session, status terminal.Status) {
	t.Helper()
	testenv.RequireTool(t, "tmux")
	t.Setenv(hostVariable, tmux.Name)
	data, newBackend := newBackends(t)
	b := newBackend()
	spec := spec(script)
	status = start(t, b, spec, nil)
	return data, b.Session(spec.ID), status
}

// A program in a pane survives its owner. If that had nothing in hand when it was killed,
// all that is printed is there, byte for byte, and no gap is told.
func TestKilledOwnerIsReplaced(t *testing.T) {
	data, s, status := onPane(t, `i=0; while [ $i -lt 300 ]; do echo before$i; i=$((i+1)); done; echo READY; read x; echo; echo after; exit 7`)
	id, ctx := status.ID, context.Background()
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	owner := ownerPID(t, data, id)
	if err := syscall.Kill(owner, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "another owner", func() bool {
		now, err := s.Status(ctx)
		return err == nil && now.State == terminal.StateRunning && now.PID == status.PID && ownerPID(t, data, id) != owner
	})
	if err := waitText(s, "READY"); err != nil {
		t.Errorf("the earlier screen: %v", err)
	}
	if err := s.Input(ctx, []byte("\n")); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the exit", func() bool {
		now, err := s.Status(ctx)
		return err == nil && now.Exit != nil && now.Exit.Code == 7
	})
	all, gap := readUntilGap(t, s, 0)
	if want := "before299\r\nREADY\r\n\r\n\r\nafter\r\n"; !strings.HasSuffix(all, want) || strings.Count(all, "before") != 300 {
		t.Errorf("%d lines and %.40q at the end", strings.Count(all, "before"), all[max(0, len(all)-40):])
	}
	if gap != nil {
		t.Errorf("a gap is told, and nothing was lost: %v", gap)
	}
}

// Another owner comes each time.
func TestEachKilledOwnerIsReplaced(t *testing.T) {
	data, s, status := onPane(t, `echo READY; while read x; do echo "got $x."; done; exit 7`)
	id, ctx := status.ID, context.Background()
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		owner := ownerPID(t, data, id)
		if err := syscall.Kill(owner, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, time.Minute, "another owner", func() bool {
			now, err := s.Status(ctx)
			return err == nil && now.State == terminal.StateRunning && ownerPID(t, data, id) != owner
		})
		if err := s.Input(ctx, fmt.Appendf(nil, "%d\n", i)); err != nil {
			t.Fatal(err)
		}
		if err := waitText(s, fmt.Sprintf("got %d.", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(ctx, time.Second); err != nil {
		t.Error(err)
	}
}

// readUntilGap is the output from an offset to the end, or to a gap.
func readUntilGap(t *testing.T, s terminal.Session, from uint64) (string, *journal.GapError) {
	t.Helper()
	r, err := s.Output(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	var gap *journal.GapError
	if err != nil && !errors.As(err, &gap) {
		t.Fatal(err)
	}
	return string(data), gap
}

// A killed tmux server ends its programs; how is recorded, and nothing is left.
func TestKilledTmuxServer(t *testing.T) {
	_, s, status := onPane(t, `trap "" HUP; echo READY; while :; do sleep 0.05; done`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	server := parentOf(t, parentOf(t, status.PID))
	if err := syscall.Kill(server, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the exit", func() bool {
		now, err := s.Status(context.Background())
		return err == nil && now.Exit != nil && len(now.Left) == 0
	})
}

// A tmux server that is stopped keeps no session from being stopped.
func TestStopWithAFrozenTmuxServer(t *testing.T) {
	_, s, status := onPane(t, `echo READY; exec sleep 1000`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	server := parentOf(t, parentOf(t, status.PID))
	if err := testenv.Freeze(server); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(server, unix.SIGCONT)
	if err := s.Stop(context.Background(), time.Second); err != nil {
		t.Fatal(err)
	}
	now, err := s.Status(context.Background())
	if err != nil || now.Exit == nil || now.Exit.Signal == 0 {
		t.Errorf("%+v, %v, want ended by a signal", now, err)
	}
}

// A tmux server that is stopped keeps nobody from anything but typing: its FIFO
// is full, and who takes the session over has it in their size, and can stop it.
func TestFrozenTmuxServerWithAPasteUnderWay(t *testing.T) {
	data, s, status := onPane(t, `stty raw -echo; echo READY; exec cat >/dev/null`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	a, err := s.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 80, Rows: 24}})
	if err != nil {
		t.Fatal(err)
	}
	server := parentOf(t, parentOf(t, status.PID))
	if err := testenv.Freeze(server); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(server, unix.SIGCONT)
	var typing sync.WaitGroup
	typing.Go(func() { _ = a.Input(make([]byte, 1<<20)) }) // until the session ends
	defer typing.Wait()
	defer a.Close()
	fifo, err := os.OpenFile(filepath.Join(data, "run", fmt.Sprintf("tmux.%d.fifo", server)), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "no room for what is typed", func() bool {
		n, err := unix.IoctlGetInt(int(fifo.Fd()), unix.TIOCINQ)
		return err == nil && n > 30<<10 // a page holds one line of 2.9 KiB
	})
	fifo.Close()
	other, err := s.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 94, Rows: 30}, Takeover: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	testenv.Eventually(t, time.Minute, "the size", func() bool {
		now, err := s.Status(context.Background())
		return err == nil && now.Size.Cols == 94
	})
	if err := s.Stop(context.Background(), time.Second); err != nil {
		t.Fatal(err)
	}
}

// What is left of a program whose launcher was killed is ended: nobody could
// tell its exit, so it counts as lost.
func TestKilledLauncherIsLost(t *testing.T) {
	data, s, status := onPane(t, `trap "" HUP; echo READY; while :; do sleep 0.05; done`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parentOf(t, status.PID), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the session is lost", func() bool {
		now, err := s.Status(context.Background())
		return err == nil && now.State == terminal.StateLost && len(now.Left) == 0
	})
	if log, err := os.ReadFile(filepath.Join(data, "sessions", status.ID, "owner.log")); err != nil || !strings.Contains(string(log), "was killed") {
		t.Errorf("the owner says %q, %v", log, err)
	}
}

// Somebody takes the pane's pipe away by hand: the session goes on, unseen, and
// its exit is recorded.
func TestPipeTakenAwayByHand(t *testing.T) {
	data, s, status := onPane(t, `echo READY; read x; exit 5`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(data, "run", "tmux.sock")
	if out, err := exec.Command("tmux", "-S", socket, "pipe-pane", "-t", "="+status.ID+":").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := s.Input(context.Background(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the exit", func() bool {
		now, err := s.Status(context.Background())
		return err == nil && now.Exit != nil && now.Exit.Code == 5
	})
}

// A tmux server that is in the scope of the session which started it, and all
// that runs there, is not that session's: its stop, with an owner and without
// one, leaves them alone.
func TestStopBesideAServerInItsScope(t *testing.T) {
	testenv.RequireTool(t, "tmux")
	t.Setenv(hostVariable, tmux.Name)
	for name, lost := range map[string]bool{"with an owner": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			data, newBackend := newBackends(t)
			first := newTraces(t)
			s := first.spec(stubborn + `stubborn a & ready a; stubborn b`)
			b := newBackend()
			scope := startInScope(t, b, s)
			t.Cleanup(func() { // before the scope is looked at
				exec.Command("tmux", "-S", filepath.Join(data, "run", "tmux.sock"), "kill-server").Run()
				testenv.Eventually(t, time.Minute, "end of what the server runs", func() bool {
					procs, err := os.ReadFile(filepath.Join(scope, "cgroup.procs"))
					return err == nil && len(procs) == 0
				})
			})
			if err := waitText(b.Session(s.ID), "READY"); err != nil {
				t.Fatal(err)
			}
			beside := newTraces(t)
			other := beside.run(newBackend(), `echo READY; while read x; do echo "got $x."; done`)
			if lost {
				killOwner(t, data, b, s.ID)
				first.reapsNobody = true
			}
			if status, _ := first.stop(b.Session(s.ID), 60*time.Millisecond); status.State == terminal.StateExited == lost {
				t.Errorf("after the stop: %+v", status)
			}
			if err := other.Input(context.Background(), []byte("more\r")); err != nil {
				t.Fatal(err)
			}
			if err := waitText(other, "got more."); err != nil {
				t.Error(err)
			}
			beside.stop(other, -1)
		})
	}
}

// An owner that replaces another ends when its session has, with nothing
// printed and a job left meanwhile.
func TestReplacedOwnerEnds(t *testing.T) {
	data, s, status := onPane(t, `(trap "" HUP; echo READY; exec sleep 1000) & read x; exit 7`)
	if err := waitText(s, "READY"); err != nil {
		t.Fatal(err)
	}
	first := ownerPID(t, data, status.ID)
	if err := syscall.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	testenv.Eventually(t, time.Minute, "another owner", func() bool {
		now, err := s.Status(ctx)
		return err == nil && now.State == terminal.StateRunning && ownerPID(t, data, status.ID) != first
	})
	if err := s.Input(ctx, []byte("\n")); err != nil {
		t.Fatal(err)
	}
	var now terminal.Status
	var err error
	t.Cleanup(func() { t.Logf("the last status: %+v, %v", now, err) })
	testenv.Eventually(t, time.Minute, "the exit, and the job", func() bool {
		now, err = s.Status(ctx)
		return err == nil && now.Exit != nil && now.Exit.Code == 7 && len(now.Left) == 1
	})
	if err := s.Stop(ctx, -1); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx); err != nil {
		t.Error(err)
	}
}
