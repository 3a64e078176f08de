//go:build unix

package ws_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"middleman/terminal"
	"middleman/terminal/ws"
)

// joined dials a server as another server or the command line does.
func joined(t *testing.T, url string, o terminal.AttachOptions) (terminal.Attachment, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, err := ws.Dial(ctx, http.DefaultClient, url, nil, o)
	if err == nil {
		t.Cleanup(func() { a.Close() })
	}
	return a, err
}

func TestDialTypesAndExits(t *testing.T) {
	t.Parallel()
	from := uint64(0)
	srv := serve(t, start(t, `stty -echo; echo ready; read x; echo "got $x"; exit 7`), nil)
	a, err := joined(t, srv.url, terminal.AttachOptions{Mode: terminal.ModeAttach, From: &from, Size: terminal.Size{Cols: 100, Rows: 30}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joined(t, srv.url, terminal.AttachOptions{Mode: terminal.ModeAttach}); err == nil {
		t.Error("a second writer was let in")
	} else if busy, ok := errors.AsType[*terminal.BusyError](err); !ok || !busy.Writer.Since.Equal(a.Hello().Writer.Since) {
		t.Errorf("a second writer: %v", err)
	}
	var got []byte
	for typed := false; ; {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == terminal.MessageExit {
			if m.Exit.Code != 7 || !bytes.Contains(got, []byte("got abc")) {
				t.Errorf("exit %+v after %q", m.Exit, got)
			}
			break
		}
		if got = append(got, m.Data...); !typed && bytes.Contains(got, []byte("ready")) {
			typed = true
			if err := a.Input([]byte("abc\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := a.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the exit: %v", err)
	}
}

// Attachments that break off at any byte and come back from there get each byte
// once.
func TestDialResumesByOffset(t *testing.T) {
	t.Parallel()
	s := start(t, `stty -opost; read go; seq -f "%040.0f" 1 40000; exit 0`)
	srv := serve(t, s, nil)
	if err := s.Input(context.Background(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for ended := false; !ended; {
		from := uint64(len(got))
		a, err := joined(t, srv.url, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &from})
		if err != nil {
			t.Fatal(err)
		}
		for piece := len(got) + 1 + rand.IntN(400_000); len(got) < piece && !ended; {
			m, err := a.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind == terminal.MessageOutput && m.Offset != uint64(len(got)) {
				t.Fatalf("output at %d, have %d", m.Offset, len(got))
			}
			got, ended = append(got, m.Data...), m.Kind == terminal.MessageExit
		}
		a.Close()
	}
	var want bytes.Buffer
	for n := 1; n <= 40000; n++ {
		fmt.Fprintf(&want, "%040d\n", n)
	}
	if !bytes.Equal(trimEcho(got), want.Bytes()) {
		t.Errorf("got %d bytes, want %d, and they differ", len(got), want.Len())
	}
}

// A server that lies costs the attachment, in bounded memory, and its words are not
// passed on.
func TestDialHostile(t *testing.T) {
	const hello = `{"type":"hello","offset":0,"head":0}`
	text := func(s string) func(*websocket.Conn, context.Context) {
		return func(c *websocket.Conn, ctx context.Context) { _ = c.Write(ctx, websocket.MessageText, []byte(s)) }
	}
	binary := func(n int) func(*websocket.Conn, context.Context) {
		return func(c *websocket.Conn, ctx context.Context) {
			_ = c.Write(ctx, websocket.MessageBinary, make([]byte, n))
		}
	}
	for _, tt := range []struct {
		name  string
		sends []func(*websocket.Conn, context.Context)
		want  error
	}{
		{"bytes before the hello", []func(*websocket.Conn, context.Context){binary(10)}, terminal.ErrUnreachable},
		{"no JSON", []func(*websocket.Conn, context.Context){text("hunter2")}, terminal.ErrUnreachable},
		{"another first message", []func(*websocket.Conn, context.Context){text(`{"type":"exit"}`)}, terminal.ErrUnreachable},
		{"a hello of the wrong types", []func(*websocket.Conn, context.Context){text(`{"type":"hello","offset":"hunter2"}`)}, terminal.ErrUnreachable},
		{"a refusal in its words", []func(*websocket.Conn, context.Context){text(`{"type":"error","code":"hunter2","message":"hunter2"}`)}, terminal.ErrUnreachable},
		{"not found", []func(*websocket.Conn, context.Context){text(`{"type":"error","code":"not-found","message":"hunter2"}`)}, terminal.ErrNotFound},
		{"a long text", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"` + strings.Repeat("hunter2", 20_000) + `"}`)}, terminal.ErrUnreachable},
		{"long output", []func(*websocket.Conn, context.Context){text(hello), binary(2 << 20)}, terminal.ErrUnreachable},
		{"a screen that is too large", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"snapshot","offset":5}`), binary(33 << 20)}, terminal.ErrUnreachable},
		{"a snapshot without a screen", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"snapshot","offset":5}`), text(`{"type":"pong"}`)}, terminal.ErrUnreachable},
		{"an error later", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"error","code":"internal","message":"hunter2"}`)}, terminal.ErrUnreachable},
		{"a server that stops", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"detached","reason":"stop"}`),
			func(c *websocket.Conn, _ context.Context) { c.Close(websocket.StatusGoingAway, "") }}, terminal.ErrUnreachable},
		{"messages of a later build", []func(*websocket.Conn, context.Context){text(hello), text(`{"type":"later","x":[1]}`), text(`{"type":"error","code":"ended"}`)}, terminal.ErrGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				defer c.CloseNow()
				for _, send := range tt.sends {
					send(c, r.Context())
				}
				_, _, _ = c.Read(r.Context()) // until the client leaves
			}))
			defer h.Close()
			a, err := joined(t, h.URL, terminal.AttachOptions{Mode: terminal.ModeWatch})
			if err == nil {
				_, err = a.Receive()
				a.Close()
			}
			if !errors.Is(err, tt.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}
