//go:build unix

package ptyowner_test

import (
	"bytes"
	"context"
	"testing"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// A writer that has closed its connection holds nobody up, though its input
// waits for a program that does not read.
func TestVanishedWriterLeavesItsPlace(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("stty raw -echo; echo READY; exec sleep 1000")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	p := dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeAttach, Client: "vanished"})
	p.welcomed("writer")
	p.send(wire.AppendFrame(nil, wire.TypeInput, bytes.Repeat([]byte("x"), wire.MaxFrame)))
	p.send(wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 1, Verb: wire.VerbStatus}))
	p.conn.Close()
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Fatalf("the place of a writer that is gone is not free: %v", err)
	}
	a.Close()
}

// Who comes back with an offset is told the size that holds there, and each
// later one at its offset; bells and titles of the past are not told again.
func TestReplayHasItsSizes(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`stty raw -echo; printf READY; while :; do head -c 1 >/dev/null; printf 'tick\a'; done`)
	start(t, b, s, nil)
	session := b.Session(s.ID)
	writer, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	const tick = "tick\a"
	const base = len("READY")
	receive := func(n int) {
		for got := 0; got < n; {
			m, err := writer.Receive()
			if err != nil {
				t.Fatal(err)
			}
			got += len(m.Data)
		}
	}
	receive(base)
	sizes := []terminal.Size{terminal.DefaultSize, {Cols: 100, Rows: 30}, {Cols: 60, Rows: 20}, {Cols: 120, Rows: 40}}
	offsets := []uint64{0}
	for i, size := range sizes {
		if i > 0 {
			if err := writer.Resize(size); err != nil {
				t.Fatal(err)
			}
			offsets = append(offsets, uint64(base+i*len(tick)))
		}
		if err := writer.Input([]byte("x")); err != nil {
			t.Fatal(err)
		}
		receive(len(tick))
	}
	for i := range sizes {
		from := offsets[i] + 1
		a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &from})
		if err != nil {
			t.Fatal(err)
		}
		if a.Hello().Size != sizes[i] || a.Hello().Offset != from {
			t.Errorf("from %d: %+v, want size %v", from, a.Hello(), sizes[i])
		}
		next, at := i+1, from
		for at < uint64(base+len(sizes)*len(tick)) {
			m, err := a.Receive()
			switch {
			case err != nil:
				t.Fatal(err)
			case m.Kind == terminal.MessageOutput:
				at = m.Offset + uint64(len(m.Data))
			case m.Kind != terminal.MessageEvent || m.Event.Kind != terminal.EventSize:
				t.Errorf("from %d: told %+v", from, m)
			case next == len(sizes) || *m.Event.Size != sizes[next] || m.Event.Offset != offsets[next] || m.Event.Offset != at:
				t.Errorf("from %d, at %d: %v at %d, want size %d", from, at, *m.Event.Size, m.Event.Offset, next)
			default:
				next++
			}
		}
		if next != len(sizes) {
			t.Errorf("from %d: %d sizes told, want %d", from, next, len(sizes))
		}
		a.Close()
	}
}
