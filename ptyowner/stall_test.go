//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/ptyowner/owner"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// stallTimeFile, in the data directory, says how long a test's owners bear a
// viewer that reads nothing.
const stallTimeFile = "test-stall-time"

// readStallTime does what the file says, for the owner of a state directory.
func readStallTime(stateDir string) {
	text, err := os.ReadFile(filepath.Join(stateDir, "../..", stallTimeFile))
	if err != nil {
		return // as it is
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		panic(err)
	}
	owner.StallTime = d
}

func setStallTime(t *testing.T, data string, d time.Duration) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(data, stallTimeFile), []byte(d.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// last reads to the last frame.
func (p *peer) last(what string) (wire.Type, wire.Detached) {
	p.t.Helper()
	for {
		typ, payload, err := p.r.Read(wire.MaxFrame)
		if err != nil {
			p.t.Fatalf("%s: %v before the last frame", what, err)
		}
		if typ != wire.TypeDetached && typ != wire.TypeExit {
			continue
		}
		var d wire.Detached
		if err := wire.ParseControl(typ, payload, &d); err != nil {
			p.t.Fatal(err)
		}
		if _, _, err := p.r.Read(wire.MaxFrame); !errors.Is(err, io.EOF) {
			p.t.Errorf("%s: %v after the last frame, want the end", what, err)
		}
		return typ, d
	}
}

// A viewer that reads nothing loses its place, while the program goes on; when
// it reads again it gets what was sent before, whole frames, and the reason,
// which is no exit.
func TestStalledViewersAreDropped(t *testing.T) {
	data, newBackend := newBackends(t)
	setStallTime(t, data, time.Second)
	b := newBackend()
	s := spec("head -c 8000000 /dev/zero | tr '\\0' x; echo DONE; exec sleep 1000")
	s.JournalBytes = 0
	start(t, b, s, nil)
	session := b.Session(s.ID)
	stalled := map[string]*peer{}
	for name, mode := range map[string]wire.Mode{"writer": wire.ModeAttach, "watcher": wire.ModeWatch} {
		p := dialOwner(t, data, s.ID)
		p.hello(wire.Hello{Mode: mode, From: new(uint64)})
		p.welcomed(name)
		stalled[name] = p
	}
	waitStatus(t, session, func(st terminal.Status) bool { return st.Writer == nil && st.Watchers == 0 })
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Errorf("the dropped writer's place is not free: %v", err)
	} else {
		defer a.Close()
	}
	if err := waitText(session, "DONE"); err != nil {
		t.Errorf("the program did not go on: %v", err)
	}
	for name, p := range stalled {
		if typ, d := p.last(name); typ != wire.TypeDetached || d.Reason != string(terminal.DetachPolicy) || d.Text == "" {
			t.Errorf("%s: last frame of type %d %+v, want policy", name, typ, d)
		}
	}
}

// A stalled writer that is taken over leaves at once, and is told when it
// reads.
func TestStalledWriterIsTakenOver(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("head -c 8000000 /dev/zero | tr '\\0' x; echo DONE; exec sleep 1000")
	s.JournalBytes = 0
	start(t, b, s, nil)
	session := b.Session(s.ID)
	p := dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeAttach, From: new(uint64)})
	p.welcomed("writer")
	if err := waitText(session, "DONE"); err != nil {
		t.Fatal(err)
	}
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, Takeover: true, Client: "second"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	waitStatus(t, session, func(st terminal.Status) bool { return st.Writer != nil && st.Writer.Client == "second" })
	if typ, d := p.last("writer"); typ != wire.TypeDetached || d.Reason != string(terminal.DetachTakeover) || d.Writer == nil || d.Writer.Client != "second" {
		t.Errorf("last frame of type %d %+v, want takeover by second", typ, d)
	}
}

// A client that asks and does not listen is closed; nobody else notices.
func TestDeafClientIsClosed(t *testing.T) {
	data, newBackend := newBackends(t)
	setStallTime(t, data, time.Second) // also for the stop at the end, on a busy machine
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	p := dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeControl})
	p.welcomed("deaf client")
	frame := wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 1, Verb: wire.VerbStatus})
	var err error
	for err == nil { // until nobody takes them any more
		_, err = p.conn.Write(frame)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection was not closed")
	}
	if _, err := b.Session(s.ID).Status(context.Background()); err != nil {
		t.Error(err)
	}
}

// waitStatus asks for the status until it is what is wanted.
func waitStatus(t *testing.T, s terminal.Session, is func(terminal.Status) bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := s.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if is(st) {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("still %+v", st)
		case <-tick.C:
		}
	}
}
