//go:build faults

package ptyowner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// exitPlaces are the steps of an exit in their order. From recordedPlace on
// the exit is on disk, from drainedPlace on all output is.
var exitPlaces = []string{
	"exit/reaped", drainedPlace, "exit/journal-synced",
	"file/screen.ans/written", "file/screen.ans/renamed", "file/exit.json/written",
	recordedPlace, "exit/recorded", "exit/told", "exit/lingered", "exit/closed",
}

const (
	drainedPlace  = "exit/drained"
	recordedPlace = "file/exit.json/renamed"
)

var stopPlaces = []string{"stop/asked", "stop/hung-up", "stop/signalled", "stop/before-kill", "stop/frozen", "stop/all-ended"}

// resultSpec is a program that waits for a line, prints some, and exits with 7.
func resultSpec() terminal.Spec {
	return spec(`stty -echo; echo READY; read x; i=0; while [ $i -lt 300 ]; do echo RESULT $i; i=$((i+1)); done; exit 7`)
}

// follow types a line at a session of resultSpec and returns what a viewer
// sees until its connection ends, and the exit, nil where none was told.
func follow(t *testing.T, s terminal.Session) (seen string, exit *terminal.Exit) {
	t.Helper()
	a, err := s.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	typed := false
	for {
		if !typed && strings.Contains(seen, "READY") {
			typed = true
			if err := a.Input([]byte("go\r")); err != nil {
				t.Fatal(err)
			}
		}
		m, err := a.Receive()
		switch {
		case errors.Is(err, terminal.ErrUnreachable):
			return seen, nil
		case err != nil:
			t.Fatal(err)
		case m.Kind == terminal.MessageExit:
			return seen, &m.Exit
		}
		seen += string(m.Data)
	}
}

// An owner that is killed at any step of an exit leaves an exit with the right
// code where it was recorded, else a lost session, never a false exit; what a
// viewer has seen is in the journal, and an exit that was told is on disk. On
// tmux another owner records the exit, unless it was.
func TestFaultOwnerKilledWhileExiting(t *testing.T) {
	l := newLab(t)
	for i, name := range exitPlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := resultSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Kill)
			start(t, b, s, nil)
			seen, told := follow(t, session)
			b.Wait()
			reached(t, p, name)
			checkAfterExit(t, session, i >= slices.Index(exitPlaces, recordedPlace), seen, told)
			kept := kept(t, session)
			if whole := strings.HasSuffix(kept, "RESULT 299\r\n"); !whole && i >= slices.Index(exitPlaces, drainedPlace) {
				t.Errorf("output ends with %q", kept[max(0, len(kept)-20):])
			}
			_, err := b.Start(context.Background(), s)
			oneLine(t, err, s.ID)
			if !errors.Is(err, terminal.ErrEnded) && !errors.Is(err, terminal.ErrGone) {
				t.Errorf("start of an ended session: %v", err)
			}
			ends(t, session)
			if _, err := b.Start(context.Background(), catSpecOf(s.ID)); err != nil {
				t.Fatalf("start after the remove: %v", err)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

func checkAfterExit(t *testing.T, s terminal.Session, recorded bool, seen string, told *terminal.Exit) {
	t.Helper()
	if replaced(t, s) {
		testenv.Eventually(t, time.Minute, "the end of the other owner", func() bool {
			status, err := s.Status(context.Background())
			return err == nil && status.Source == "disk"
		})
	}
	status, err := s.Status(context.Background())
	if err != nil || status.Source != "disk" || len(status.Left) > 0 {
		t.Fatalf("%+v, %v", status, err)
	}
	kept := kept(t, s)
	if !strings.HasPrefix(kept, seen) {
		t.Errorf("a viewer has seen %q, the journal has %q", seen, kept)
	}
	if told != nil && !recorded {
		t.Errorf("%+v was told before it was recorded", told)
	}
	if told != nil && status.Exit != nil && *told != *status.Exit {
		t.Errorf("%+v was told, and is %+v", told, status.Exit)
	}
	if !recorded && !onTmux() {
		if status.State != terminal.StateLost || status.Exit != nil {
			t.Errorf("%+v, want lost", status)
		}
		return
	}
	if status.State != terminal.StateExited || status.Exit.Code != 7 || status.Exit.Offset != status.Head {
		t.Errorf("%+v, want exit 7 at the head", status)
	}
	if !recorded && !strings.Contains(kept, "RESULT 299") {
		return // it was in the owner that was killed
	}
	c, err := s.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText})
	if err != nil || !strings.Contains(string(c.Data), "RESULT 299") {
		t.Errorf("last screen %q, %v", c.Data, err)
	}
}

// kept is all output that is kept of a session.
func kept(t *testing.T, s terminal.Session) (all string) {
	t.Helper()
	for from := uint64(0); ; {
		part, gap := readUntilGap(t, s, from)
		all += part
		if gap == nil {
			return all
		}
		if from = gap.Next; from == headOf(t, s) {
			return all
		}
	}
}

func headOf(t *testing.T, s terminal.Session) uint64 {
	t.Helper()
	status, err := s.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return status.Head
}

// deafProgram is a program that hears neither SIGHUP nor SIGTERM, with a job of
// that kind in a session of its own.
const deafProgram = `trap "" HUP TERM; setsid sh -c 'while sleep 0.05; do :; done' & stty -echo; echo READY; while sleep 0.05; do :; done`

// An owner that is killed while it stops its session: the stop goes on from
// the caller's side and leaves nothing.
func TestFaultOwnerKilledWhileStopping(t *testing.T) {
	l := newLab(t)
	for _, name := range stopPlaces {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := spec(deafProgram)
			session := b.Session(s.ID)
			at(t, p, name, fault.Hold)
			start(t, b, s, nil)
			if err := waitText(session, "READY"); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan error, 1)
			go func() { stopped <- session.Stop(context.Background(), 50*time.Millisecond) }()
			if err := syscall.Kill(held(t, p, name), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := testenv.Receive(t, time.Minute, "the stop", stopped); err != nil {
				t.Errorf("stop: %v", err)
			}
			status, err := session.Status(context.Background())
			if err != nil || len(status.Left) > 0 {
				t.Fatalf("%+v, %v", status, err)
			}
			// At the last step its exit may have been recorded meanwhile, and on
			// tmux by another owner.
			if onTmux() && status.Exit != nil {
				ends(t, session)
				return
			}
			if status.State != terminal.StateLost && !(name == "stop/all-ended" && status.Exit != nil) {
				t.Errorf("%+v, want lost", status)
			}
			ends(t, session)
		})
	}
}

// Who stops what an owner has left is killed at it: the next stop ends it.
func TestFaultStopperKilled(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"stop/signalled", "stop/before-kill", "stop/frozen"} {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := spec(deafProgram)
			session := b.Session(s.ID)
			start(t, b, s, nil)
			if err := waitText(session, "READY"); err != nil {
				t.Fatal(err)
			}
			loseOwner(t, l.data, s.ID)
			b.Wait()
			at(t, p, name, fault.Kill)
			killed(t, child{Data: l.data, Do: "stop", Spec: s}.run(t))
			reached(t, p, name)
			if status, err := session.Status(context.Background()); err != nil || status.State != terminal.StateLost || len(status.Left) == 0 {
				t.Errorf("%+v, %v: want lost, with processes left", status, err)
			}
			ends(t, session)
		})
	}
}
