//go:build unix

package ptyowner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// A size that no screen can have becomes the nearest that one can, so that a
// viewer always gets a snapshot at the session's size.
func TestSizesThatNoScreenHas(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	look := func(t *testing.T, session terminal.Session, asked terminal.Size) {
		t.Helper()
		cols, rows := vt.ClampSize(int(asked.Cols), int(asked.Rows))
		a, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if got := a.Hello().Size; int(got.Cols) != cols || int(got.Rows) != rows {
			t.Errorf("%v is %v, want %dx%d", asked, got, cols, rows)
		}
		if m, err := a.Receive(); err != nil || m.Kind != terminal.MessageSnapshot {
			t.Errorf("%v: %+v, %v, want a snapshot", asked, m, err)
		}
	}
	sizes := []terminal.Size{{Cols: 1, Rows: 1}, {Cols: 1, Rows: 24}, {Cols: 400, Rows: 400}, {Cols: 65535, Rows: 65535}, {Cols: 2, Rows: 1}}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("started at %dx%d", size.Cols, size.Rows), func(t *testing.T) {
			s := spec("echo READY; exec sleep 1000")
			s.Size = size
			start(t, b, s, nil)
			look(t, b.Session(s.ID), size)
		})
	}
	s := spec("echo READY; exec sleep 1000")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	writer, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, size := range sizes {
		if err := writer.Resize(size); err != nil {
			t.Fatal(err)
		}
		cols, rows := vt.ClampSize(int(size.Cols), int(size.Rows))
		waitStatus(t, session, func(st terminal.Status) bool { return int(st.Size.Cols) == cols && int(st.Size.Rows) == rows })
		look(t, session, size)
	}
}
