package ws_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/terminal"
	"middleman/terminal/ws"
)

// patience bounds every wait of these tests.
const patience = time.Minute

// server serves one session on loopback.
type server struct {
	url  string
	errs chan error // what each Serve returned
	end  context.CancelCauseFunc
}

// serve starts a server; adjust changes what the query says.
func serve(t testing.TB, s terminal.Session, adjust func(*ws.Options)) *server {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	srv := &server{errs: make(chan error, 64), end: cancel}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := ws.ParseQuery(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if adjust != nil {
			adjust(&o)
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		srv.errs <- ws.Serve(ctx, conn, s, o)
	}))
	t.Cleanup(func() { cancel(nil); h.Close() })
	srv.url = "ws" + strings.TrimPrefix(h.URL, "http")
	return srv
}

// message is a text message from the server with the fields of all kinds.
type message struct {
	Type    string
	Offset  uint64
	Head    uint64
	Oldest  uint64
	Size    *terminal.Size
	Writer  *terminal.Writer
	Mode    terminal.Mode
	Kind    terminal.EventKind
	Text    string
	Reason  terminal.DetachReason
	Code    json.RawMessage
	Message string
	Signal  int
}

// client is a browser's side. Its bytes are output alone, from offset on.
type client struct {
	t      testing.TB
	conn   *websocket.Conn
	ctx    context.Context
	hello  message
	offset uint64 // after the last output
}

// dial joins without waiting for a message.
func dial(t testing.TB, srv *server, query string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	conn, _, err := websocket.Dial(ctx, srv.url+"/?"+query, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow(); cancel() })
	return &client{t: t, conn: conn, ctx: ctx}
}

// join dials and takes the hello.
func join(t testing.TB, srv *server, query string) *client {
	t.Helper()
	c := dial(t, srv, query)
	c.hello, _ = c.next()
	if c.hello.Type != "hello" {
		t.Fatalf("first message is %+v", c.hello)
	}
	c.offset = c.hello.Offset
	return c
}

// next returns the next message; data is set for a binary one.
func (c *client) next() (m message, data []byte) {
	c.t.Helper()
	kind, p, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	if kind == websocket.MessageBinary {
		return m, p
	}
	if err := json.Unmarshal(p, &m); err != nil {
		c.t.Fatalf("%s: %v", p, err)
	}
	return m, nil
}

// nextOf skips to the next text message of that type.
func (c *client) nextOf(kind string) message {
	c.t.Helper()
	for {
		if m, _ := c.next(); m.Type == kind {
			return m
		}
	}
}

// output acknowledges and collects output until enough says so, or up to the
// text message that ends it, which is returned.
func (c *client) output(enough func([]byte) bool) (got []byte, last message) {
	c.t.Helper()
	for enough == nil || !enough(got) {
		m, data := c.next()
		switch m.Type {
		case "":
			got = append(got, data...)
			c.offset += uint64(len(data))
			c.sendText(map[string]any{"type": "ack", "offset": c.offset})
		case "exit", "error", "detached":
			return got, m
		case "snapshot":
			c.next()
			c.offset = m.Offset
			got = nil
		}
	}
	return got, message{}
}

func (c *client) sendText(m any) {
	c.t.Helper()
	p, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	// After the last message the server may be gone.
	_ = c.conn.Write(c.ctx, websocket.MessageText, p)
}

func (c *client) input(p []byte) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, websocket.MessageBinary, p); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// closed returns the status that the server closed with.
func (c *client) closed() websocket.StatusCode {
	c.t.Helper()
	for {
		if _, _, err := c.conn.Read(c.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// served returns what Serve returned.
func (srv *server) served(t testing.TB) error {
	t.Helper()
	select {
	case err := <-srv.errs:
		return err
	case <-time.After(patience):
		t.Fatal("Serve does not return")
		return nil
	}
}
