package viewer

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// requested runs change for a request, with keys that were typed before the
// question stood, and returns the viewer after it and the request's answer.
func requested(t *testing.T, keys string) (next *viewer, answer error) {
	t.Helper()
	s, other := startSession(t, "exec cat"), startSession(t, "exec cat")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		io.Copy(io.Discard, master) // EIO at the end
	}()
	o := Options{Mode: terminal.ModeAttach, Detach: 0x1c, Label: "one/cat"}
	o.Switch = &Switch{Key: 0x1d, Name: "ctrl-]", Open: func(context.Context, string, bool) (terminal.Session, Options, error) {
		o := o
		o.Label = "two/cat"
		return other, o, nil
	}}
	answered := make(chan error, 1)
	v := newViewer(slave, slave, s, o)
	v.asked = &Request{ID: "s1", Label: "two/cat", Answer: func(err error) { answered <- err }}
	v.find.rest = []byte(keys)
	next, err = v.change(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.attachment().Close(); err != nil {
		t.Error(err)
	}
	slave.Close()
	<-drawn
	master.Close()
	return next, <-answered
}

// Keys that the user typed for the program answer no question, Enter included:
// they refuse, and the program gets them.
func TestTypingAheadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, keys, typed string }{
		{"enter", "\rmore", "\rmore"},
		{"a letter", "yes\r", "yes\r"},
		{"an arrow", "\x1b[A\r", "\x1b[A\r"},
		{"escape is for the question", "\x1bmore", "more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next, answer := requested(t, tt.keys)
			if answer == nil || !strings.Contains(answer.Error(), "stays at one/cat") {
				t.Errorf("answered with %v", answer)
			}
			if next.o.Label != "one/cat" || string(next.unread) != tt.typed || next.refused != 1 {
				t.Errorf("it goes on with %s, %q and %d refusals; want %q", next.o.Label, next.unread, next.refused, tt.typed)
			}
		})
	}
}

// Who refuses again and again is not asked any more.
func TestRefusedRequestsEnd(t *testing.T) {
	requests := make(chan Request)
	v := &viewer{o: Options{Label: "one/cat", Switch: &Switch{Requests: requests}}, refused: maxRefused}
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.awaitRequest(ctx, end)
	}()
	answered := make(chan error)
	for range 3 {
		requests <- Request{ID: "s1", Answer: func(err error) { answered <- err }}
		if err := <-answered; err == nil || !strings.Contains(err.Error(), "refused 3 requests in a row") {
			t.Errorf("answered with %v", err)
		}
	}
	if ctx.Err() != nil || v.asked != nil {
		t.Error("the user is asked")
	}
	end(nil)
	<-ended
}

func TestQuestionFits(t *testing.T) {
	for cols := uint16(1); cols <= 100; cols++ {
		screen := vt.New(vt.Options{Cols: int(cols), Rows: 8})
		screen.Write([]byte(question("here/sh", Request{Label: "there/sh", Takeover: true}, true, terminal.Size{Cols: cols, Rows: 8})))
		text := screen.Text(vt.TextOptions{Scrollback: true})
		if n := strings.Count(strings.TrimRight(text, "\n"), "\n"); n >= 8 {
			t.Fatalf("%d columns: %d lines", cols, n+1)
		}
		if cols >= 40 && !strings.Contains(strings.ReplaceAll(text, "\n", " "), "Esc stays.") {
			t.Errorf("%d columns: %q", cols, text)
		}
	}
}
