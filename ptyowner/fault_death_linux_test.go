//go:build faults

package ptyowner_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"middleman/internal/fault"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/tmux"
)

// A panic in what serves one connection ends that one, is in the log with its
// stack, and costs the session nothing.
func TestFaultPanicForOneViewer(t *testing.T) {
	const name = "viewer/panic"
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := catSpec()
		before := start(t, b, s, nil)
		session := b.Session(s.ID)
		if err := waitText(session, "READY"); err != nil {
			t.Fatal(err)
		}
		if err := p.Set(name, fault.Broken, 0, 2); err != nil { // both its sides
			t.Fatal(err)
		}
		if err := waitText(session, "never"); err == nil {
			t.Error("a connection that panicked goes on")
		}
		reached(t, p, name)
		answers(t, session)
		if now, err := session.Status(context.Background()); err != nil || now.PID != before.PID || now.State != terminal.StateRunning {
			t.Errorf("%+v, %v: want program %d", now, err, before.PID)
		}
		log, err := os.ReadFile(l.file(s.ID, "owner.log"))
		if err != nil || !strings.Contains(string(log), "panicked and was closed: ") || !strings.Contains(string(log), "goroutine ") {
			t.Errorf("%v, the log has %q", err, log)
		}
		ends(t, session)
	})
}

// A panic in what every session needs ends the owner, and whoever asks is told;
// on tmux another owner goes on.
func TestFaultPanicInTheCore(t *testing.T) {
	const name = "screen/panic"
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := catSpec()
		start(t, b, s, nil)
		session := b.Session(s.ID)
		if err := waitText(session, "READY"); err != nil {
			t.Fatal(err)
		}
		if err := p.Set(name, fault.Broken, 0, 1); err != nil {
			t.Fatal(err)
		}
		_ = session.Input(context.Background(), []byte("typed")) // it may be gone before it answers
		b.Wait()
		reached(t, p, name)
		if replaced(t, session) {
			if log, err := os.ReadFile(l.file(s.ID, "owner.log")); err != nil || !strings.Contains(string(log), "input/output error") {
				t.Errorf("the log says %q, %v: want the panic", log, err)
			}
			answers(t, session)
			ends(t, session)
			return
		}
		status, err := session.Status(context.Background())
		if err != nil || status.State != terminal.StateLost || !strings.HasPrefix(status.Lost, "its owner panicked: ") ||
			!strings.Contains(status.Lost, "input/output error") {
			t.Errorf("%+v, %v: want the panic", status, err)
		}
		ends(t, session)
	})
}

// An owner in a pane that is killed with output in hand leaves a gap, which is told. The
// program goes on, and what it prints then is there.
func TestFaultKilledWithOutputInHand(t *testing.T) {
	const name = "output/taken"
	testenv.RequireTool(t, "tmux")
	t.Setenv(hostVariable, tmux.Name)
	l := newLab(t)
	l.run(name, func(t *testing.T, b *ptyowner.Backend, p *fault.Plan) {
		s := spec(`stty -echo; echo READY; read x; echo LOST; read x; echo AFTER; read x`)
		before := start(t, b, s, nil)
		session := b.Session(s.ID)
		if err := waitText(session, "READY"); err != nil {
			t.Fatal(err)
		}
		owner := ownerPID(t, l.data, s.ID)
		at(t, p, name, fault.Kill)
		_ = session.Input(context.Background(), []byte("\n")) // its owner may be gone before it answers
		testenv.Eventually(t, time.Minute, "another owner", func() bool {
			now, err := session.Status(context.Background())
			return err == nil && now.PID == before.PID && ownerPID(t, l.data, s.ID) != owner
		})
		reached(t, p, name)
		first, gap := readUntilGap(t, session, 0)
		if first != "READY\r\n" || gap == nil {
			t.Fatalf("%q, gap %v", first, gap)
		}
		if err := session.Input(context.Background(), []byte("\n")); err != nil {
			t.Fatal(err)
		}
		if err := waitText(session, "AFTER"); err != nil {
			t.Fatal(err)
		}
		if after, gap := readUntilGap(t, session, gap.Next); after != "AFTER\r\n" || gap != nil {
			t.Errorf("after the gap %q, gap %v", after, gap)
		}
		ends(t, session)
	})
}
