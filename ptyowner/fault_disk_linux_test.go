//go:build faults

package ptyowner_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// The writes of a start and of an exit that a disk can refuse.
var (
	startWrites = []string{"write/owner.json", "sync/owner.json", "sync-dir/owner.json"}
	exitWrites  = []string{
		"journal/fill", "journal/sync", "journal/index",
		"write/screen.ans", "sync/screen.ans", "sync-dir/screen.ans",
		"write/exit.json", "sync/exit.json", "sync-dir/exit.json",
	}
)

// A disk that is full at a start is one error with the file's path; nothing is
// left, and with room again the same id starts.
func TestFaultDiskFullAtStart(t *testing.T) {
	l := newLab(t)
	for _, name := range startWrites {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			s := catSpec()
			session := b.Session(s.ID)
			at(t, p, name, fault.Full)
			_, err := b.Start(context.Background(), s)
			oneLine(t, err, s.ID)
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), l.file(s.ID, "owner.json")) {
				t.Errorf("%v: want the system's error and the path", err)
			}
			if _, err := session.Status(context.Background()); !errors.Is(err, terminal.ErrNotFound) {
				t.Errorf("status: %v, want not found", err)
			}
			reached(t, p, name)
			if _, err := b.Start(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			answers(t, session)
			ends(t, session)
		})
	}
}

// A disk that is full, or broken, at any write of an exit: the exit is told to
// the viewer and to whoever asks, and is on disk with all output and the last
// screen as soon as the disk takes it.
func TestFaultDiskFullAtExit(t *testing.T) {
	l := newLab(t)
	actions := []fault.Action{fault.Full, fault.Broken}
	if testing.Short() {
		actions = actions[:1]
	}
	for _, action := range actions {
		l.run("exit on a disk that is "+string(action), func(t *testing.T, b *ptyowner.Backend, _ *fault.Plan) {
			var specs []terminal.Spec
			var plans []*fault.Plan
			for i, name := range exitWrites { // all at once, since each waits for the next try
				p := fault.NewPlan(t.TempDir())
				t.Setenv(p.Variable())
				at(t, p, name, action)
				if name == "journal/fill" {
					at(t, p, "journal/append", action) // so that there is something to fill
				}
				specs, plans = append(specs, resultSpec()), append(plans, p)
				start(t, b, specs[i], nil)
			}
			for i, name := range exitWrites {
				session := b.Session(specs[i].ID)
				seen, told := follow(t, session)
				if told == nil || told.Code != 7 || !strings.HasSuffix(seen, "RESULT 299\r\n") {
					t.Errorf("%s: told %+v after %q", name, told, seen)
				}
				status, err := session.Status(context.Background())
				if err != nil || status.State != terminal.StateExited || status.Exit.Code != 7 {
					t.Errorf("%s: %+v, %v", name, status, err)
				}
				reached(t, plans[i], name)
			}
			b.Wait() // every owner ends when its exit is on disk
			for i, name := range exitWrites {
				session := b.Session(specs[i].ID)
				checkAfterExit(t, session, true, "READY\r\n", nil)
				if got := output(t, session); !strings.HasSuffix(got, "RESULT 299\r\n") {
					t.Errorf("%s: output %q", name, got)
				}
				ends(t, session)
			}
		})
	}
}

// An owner that is killed when it has filled the journal's gap at the exit has
// lost no output.
func TestFaultKilledWithJournalFilled(t *testing.T) {
	const name = "exit/journal-filled"
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := resultSpec()
		at(t, p, "journal/append", fault.Full)
		at(t, p, name, fault.Kill)
		start(t, b, s, nil)
		seen, told := follow(t, b.Session(s.ID))
		b.Wait()
		reached(t, p, name)
		checkAfterExit(t, b.Session(s.ID), false, seen, told)
		if !strings.HasSuffix(seen, "RESULT 299\r\n") {
			t.Errorf("seen %q", seen)
		}
		ends(t, b.Session(s.ID))
	})
}

// While the journal takes no output the session goes on: its viewer sees
// every byte and its screen is right. The gap is told as one, and it ends
// where there is room again.
func TestFaultDiskFullWhileRunning(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"journal/append", "journal/roll"} {
		l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
			at(t, p, "journal/fill", fault.Full) // else nothing is lost that is in memory
			s := spec(`stty raw -echo; printf KEPT; exec cat`)
			if name == "journal/roll" { // at a segment's begin, and this is the first
				s = spec(`stty raw -echo; printf LOST; exec cat`)
				at(t, p, name, fault.Full)
			}
			start(t, b, s, nil)
			session := b.Session(s.ID)
			a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			kept := ""
			if name == "journal/append" {
				kept = "KEPT"
				see(t, a, kept)
				at(t, p, name, fault.Full)
				typeAndSee(t, a, "LOST")
			} else {
				see(t, a, "LOST")
			}
			reached(t, p, name)
			typeAndSee(t, a, "HEALED")
			gapEnd := uint64(len(kept + "LOST"))
			checkGap(t, l, s.ID, session, uint64(len(kept)), gapEnd)
			if c, err := session.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText}); err != nil ||
				!strings.HasPrefix(string(c.Data), kept+"LOSTHEALED") {
				t.Errorf("screen %q, %v", c.Data, err)
			}
			checkViewersAtGap(t, session, a, gapEnd)
			a.Close()
			ends(t, session)
		})
	}
}

// checkGap checks that output from inside the gap is an error that names it,
// and that from its end all is kept.
func checkGap(t *testing.T, l *lab, id string, s terminal.Session, from, to uint64) {
	t.Helper()
	r := journal.Open(l.file(id, "journal"))
	defer r.Close()
	var gap *journal.GapError
	if _, err := r.ReadAt(make([]byte, 9), from); !errors.As(err, &gap) || gap.Offset != from || gap.Next != to {
		t.Errorf("in the gap: %v, want one from %d to %d", err, from, to)
	}
	out, err := s.Output(context.Background(), 0)
	var trimmed *terminal.TrimmedError
	if from == 0 { // nothing before it is kept
		if !errors.As(err, &trimmed) || trimmed.Oldest != to {
			t.Errorf("output: %v, want none before %d", err, to)
		}
	} else if err != nil {
		t.Fatal(err)
	} else if data, err := io.ReadAll(out); string(data) != "KEPT" || !errors.As(err, &gap) {
		t.Errorf("output %q, %v, want a gap", data, err)
	}
	if out, err = s.Output(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if data, err := io.ReadAll(out); string(data) != "HEALED" || err != nil {
		t.Errorf("after the gap: %q, %v", data, err)
	}
}

// checkViewersAtGap pushes the gap out of memory and looks what viewers get
// that come back before and after it.
func checkViewersAtGap(t *testing.T, s terminal.Session, a terminal.Attachment, gapEnd uint64) {
	t.Helper()
	word := "\r\n" + strings.Repeat("x", 78)
	bulk := strings.Repeat(word, 2000)
	for len(bulk) > 0 {
		part := bulk[:min(len(bulk), 20*len(word))]
		bulk = bulk[len(part):]
		typeAndSee(t, a, part)
	}
	typeAndSee(t, a, "\r\nEND")
	for _, from := range []uint64{0, gapEnd - 1, gapEnd} {
		w, err := s.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &from})
		if err != nil {
			t.Fatal(err)
		}
		at, snapshots := from, 0
		for tail := ""; !strings.Contains(tail, "END"); {
			m, err := w.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch m.Kind {
			case terminal.MessageSnapshot:
				snapshots++
				at, tail = m.Offset, string(m.Data)
			case terminal.MessageOutput:
				if m.Offset != at {
					t.Errorf("from %d: bytes from %d, want %d: a silent gap", from, m.Offset, at)
				}
				at += uint64(len(m.Data))
				tail += string(m.Data)
			}
		}
		w.Close()
		if want := 1; from < gapEnd && snapshots != want || from == gapEnd && snapshots != 0 {
			t.Errorf("from %d of a gap up to %d: %d snapshots", from, gapEnd, snapshots)
		}
	}
}

// see waits until a viewer has been sent a text.
func see(t *testing.T, a terminal.Attachment, text string) {
	t.Helper()
	seen := make(chan error, 1)
	go func() {
		for got := ""; !strings.Contains(got, text); {
			m, err := a.Receive()
			if err != nil {
				seen <- err
				return
			}
			got += string(m.Data)
		}
		seen <- nil
	}()
	if err := testenv.Receive(t, time.Minute, "text for a viewer", seen); err != nil {
		t.Fatal(err)
	}
}

func typeAndSee(t *testing.T, a terminal.Attachment, text string) {
	t.Helper()
	if err := a.Input([]byte(text)); err != nil {
		t.Fatal(err)
	}
	see(t, a, text)
}

// The scrollback is the same where the disk takes none of it.
func TestFaultDiskFullForScrollback(t *testing.T) {
	const name = "spill/write"
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		at(t, p, name, fault.Full)
		_, session, want := manyLines(t, b)
		if got := captured(t, session); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		reached(t, p, name)
		ends(t, session)
	})
}
