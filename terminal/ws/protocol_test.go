package ws_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/testenv"
	"middleman/terminal"
	"middleman/terminal/ws"
)

// scripted is an attachment that says what a test wants, for what a real
// owner cannot be made to do on demand.
type scripted struct {
	hello    terminal.Hello
	messages chan terminal.Message // closing it is a broken connection
	inputs   chan []byte
	acks     chan uint64
	closed   chan struct{}
	once     sync.Once
}

// scriptedSession has one attachment, or an error, or attaches until it is
// given up.
type scriptedSession struct {
	terminal.Session // only Attach is called, and Capture of one that is gone
	attachment       *scripted
	err              error
	attaching        chan struct{}
}

func (s scriptedSession) Capture(context.Context, terminal.CaptureOptions) (terminal.Capture, error) {
	return terminal.Capture{}, s.err
}

func (s scriptedSession) Attach(ctx context.Context, _ terminal.AttachOptions) (terminal.Attachment, error) {
	if s.attaching != nil {
		s.attaching <- struct{}{}
		<-ctx.Done()
		return nil, fmt.Errorf("dial: %w: %w", terminal.ErrUnreachable, ctx.Err())
	}
	return s.attachment, s.err
}

func (s *scripted) session() terminal.Session { return scriptedSession{attachment: s} }

func newScripted() *scripted {
	return &scripted{
		messages: make(chan terminal.Message), inputs: make(chan []byte),
		acks: make(chan uint64, 1024), closed: make(chan struct{}),
	}
}

func (s *scripted) Hello() terminal.Hello { return s.hello }

func (s *scripted) Receive() (terminal.Message, error) {
	select {
	case m, ok := <-s.messages:
		if !ok {
			return m, fmt.Errorf("read /secret/socket: %w", terminal.ErrUnreachable)
		}
		if m.Kind == 0 {
			return m, io.EOF
		}
		return m, nil
	case <-s.closed:
		return terminal.Message{}, terminal.ErrUnreachable
	}
}

// Input blocks until the test takes it.
func (s *scripted) Input(p []byte) error {
	select {
	case s.inputs <- p:
		return nil
	case <-s.closed:
		return terminal.ErrUnreachable
	}
}

func (s *scripted) Resize(terminal.Size) error { return nil }

func (s *scripted) Ack(offset uint64) error {
	select {
	case s.acks <- offset:
	case <-s.closed:
	}
	return nil
}

func (s *scripted) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// say waits until the server has taken m, or reports false when it does not
// within wait.
func (s *scripted) say(m terminal.Message, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s.messages <- m:
		return true
	case <-timer.C:
		return false
	}
}

func output(offset uint64, p []byte) terminal.Message {
	return terminal.Message{Kind: terminal.MessageOutput, Offset: offset, Data: p}
}

func (c *client) wantError(code string, status websocket.StatusCode) message {
	c.t.Helper()
	m := c.nextOf("error")
	if string(m.Code) != `"`+code+`"` {
		c.t.Errorf("error %s (%s), want %s", m.Code, m.Message, code)
	}
	if got := c.closed(); got != status {
		c.t.Errorf("closed with %v, want %v", got, status)
	}
	return m
}

func TestWindow(t *testing.T) {
	const window = 256 << 10
	s := newScripted()
	srv := serve(t, s.session(), nil)
	c := join(t, srv, "")
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10)
	sent, wait := uint64(0), patience
	for s.say(output(sent, chunk), wait) {
		if sent += uint64(len(chunk)); sent > window { // one part may wait
			wait = 300 * time.Millisecond
		}
		if sent > 2*window {
			t.Fatal("the attachment is read on although nothing was acknowledged")
		}
	}
	got := 0
	read := func(want int) {
		t.Helper()
		for got < want {
			_, data := c.next()
			got += len(data)
		}
		if got != want {
			t.Fatalf("%d bytes arrived, want %d", got, want)
		}
	}
	read(window)
	// One byte drawn lets one byte through, whatever waits.
	c.sendText(map[string]any{"type": "ack", "offset": 1})
	read(window + 1)
	if ack := testenv.Receive(t, patience, "the ack at the attachment", s.acks); ack != 1 {
		t.Errorf("attachment was told %d", ack)
	}
	c.sendText(map[string]any{"type": "ack", "offset": got})
	read(int(sent))
}

func TestSnapshotBeginsTheWindowAnew(t *testing.T) {
	s := newScripted()
	c := join(t, serve(t, s.session(), nil), "")
	s.say(terminal.Message{Kind: terminal.MessageSnapshot, Offset: 1 << 40}, patience)
	s.say(output(1<<40, []byte("after")), patience)
	if m, _ := c.next(); m.Type != "snapshot" || m.Offset != 1<<40 {
		t.Errorf("got %+v", m)
	}
	if _, data := c.next(); data == nil || len(data) != 0 {
		t.Errorf("the empty snapshot is %q", data)
	}
	if _, data := c.next(); string(data) != "after" {
		t.Errorf("output %q", data)
	}
}

func TestMessagesInOrder(t *testing.T) {
	s := newScripted()
	s.hello = terminal.Hello{Offset: 5, Head: 9, Oldest: 2, Size: terminal.DefaultSize, Title: "t"}
	c := join(t, serve(t, s.session(), nil), "mode=watch")
	if c.hello.Offset != 5 || c.hello.Head != 9 || c.hello.Oldest != 2 || c.hello.Mode != "watch" || c.hello.Writer != nil {
		t.Errorf("hello %+v", c.hello)
	}
	s.say(output(5, []byte("a")), patience)
	s.say(terminal.Message{Kind: terminal.MessageEvent, Event: terminal.Event{Kind: terminal.EventTitle, Offset: 6, Text: "new"}}, patience)
	s.say(output(6, []byte("b")), patience)
	s.say(terminal.Message{Kind: terminal.MessageExit, Exit: terminal.Exit{Code: -1, Signal: 9, Offset: 7}}, patience)
	var order []string
	for len(order) < 4 {
		m, data := c.next()
		order = append(order, fmt.Sprintf("%s%s%s%s", m.Type, m.Text, data, m.Code))
	}
	if got := strings.Join(order, " "); got != "a eventnew b exit-1" {
		t.Errorf("order %q", got)
	}
	if got := c.closed(); got != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", got)
	}
}

func TestSmallOutputsJoinWhileTheClientIsSlow(t *testing.T) {
	s := newScripted()
	srv := serve(t, s.session(), nil)
	c := join(t, srv, "")
	// The first messages fill the connection, as this client does not read.
	big := bytes.Repeat([]byte{'x'}, 64<<10)
	offset := uint64(0)
	for range 3 {
		s.say(output(offset, big), patience)
		offset += uint64(len(big))
	}
	const small = 20_000
	for range small {
		if !s.say(output(offset, []byte("y")), patience) {
			t.Fatal("the attachment is not read")
		}
		offset++
	}
	s.say(terminal.Message{Kind: terminal.MessageExit}, patience)
	messages, got := 0, uint64(0)
	for {
		m, data := c.next()
		if m.Type == "exit" {
			break
		}
		messages++
		got += uint64(len(data))
	}
	if got != offset {
		t.Errorf("got %d bytes, want %d", got, offset)
	}
	t.Logf("%d outputs in %d messages", small+3, messages)
}

func TestTypedBytesDoNotHoldAcksAndPings(t *testing.T) {
	s := newScripted() // takes no input until the test does
	c := join(t, serve(t, s.session(), nil), "")
	for range 8 {
		c.input(bytes.Repeat([]byte{'p'}, 64<<10))
	}
	chunk := bytes.Repeat([]byte{'o'}, 64<<10)
	for i := range uint64(16) {
		if !s.say(output(i*uint64(len(chunk)), chunk), patience) {
			t.Fatal("output stopped")
		}
		_, data := c.next()
		c.offset += uint64(len(data))
		for c.offset < (i+1)*uint64(len(chunk)) {
			_, data = c.next()
			c.offset += uint64(len(data))
		}
		c.sendText(map[string]any{"type": "ack", "offset": c.offset})
	}
	c.sendText(map[string]any{"type": "ping"})
	c.nextOf("pong")
	for typed := 0; typed < 8*64<<10; {
		typed += len(testenv.Receive(t, patience, "input", s.inputs))
	}
}

func TestClientErrors(t *testing.T) {
	tests := []struct {
		name, query string
		send        func(c *client)
		code        string
	}{
		{"not JSON", "", func(c *client) { c.conn.Write(c.ctx, websocket.MessageText, []byte("{")) }, ws.CodeBadRequest},
		{"no size", "", func(c *client) { c.sendText(map[string]any{"type": "resize", "cols": 80}) }, ws.CodeBadRequest},
		{"size too large", "", func(c *client) { c.sendText(map[string]any{"type": "resize", "cols": 80, "rows": 1 << 16}) }, ws.CodeBadRequest},
		{"ack of the future", "", func(c *client) { c.sendText(map[string]any{"type": "ack", "offset": 1}) }, ws.CodeBadRequest},
		{"watcher types", "mode=watch", func(c *client) { c.input([]byte("x")) }, ws.CodeForbidden},
		{"watcher resizes", "mode=watch", func(c *client) { c.sendText(map[string]any{"type": "resize", "cols": 80, "rows": 24}) }, ws.CodeForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, newScripted().session(), nil)
			c := join(t, srv, tt.query)
			tt.send(c)
			c.wantError(tt.code, websocket.StatusPolicyViolation)
			if srv.served(t) == nil {
				t.Error("Serve returned no error")
			}
		})
	}
}

func TestUnknownMessagesAreSkipped(t *testing.T) {
	c := join(t, serve(t, newScripted().session(), nil), "")
	c.sendText(map[string]any{"type": "of the future", "cols": 1})
	c.sendText(map[string]any{"type": "ping"})
	c.nextOf("pong")
}

func TestMessageSizes(t *testing.T) {
	s := newScripted()
	srv := serve(t, s.session(), nil)
	c := join(t, srv, "")
	c.input(make([]byte, 1<<20))
	if p := testenv.Receive(t, patience, "input", s.inputs); len(p) != 1<<20 {
		t.Errorf("got %d bytes", len(p))
	}
	c.conn.Write(c.ctx, websocket.MessageBinary, make([]byte, 1<<20+1))
	if got := c.closed(); got != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v", got)
	}
	srv.served(t)
}

func TestAttachErrors(t *testing.T) {
	tests := []struct {
		err    error
		code   string
		status websocket.StatusCode
	}{
		{terminal.ErrNotFound, ws.CodeNotFound, websocket.StatusPolicyViolation},
		{terminal.ErrGone, ws.CodeEnded, websocket.StatusPolicyViolation},
		{terminal.ErrTooManyViewers, ws.CodeTooManyViewers, websocket.StatusPolicyViolation},
		{errors.ErrUnsupported, ws.CodeUnsupported, websocket.StatusPolicyViolation},
		{terminal.ErrUnreachable, ws.CodeUnreachable, websocket.StatusInternalError},
		{errors.New("other"), ws.CodeInternal, websocket.StatusInternalError},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			srv := serve(t, scriptedSession{err: fmt.Errorf("dial /secret/socket: %w", tt.err)}, nil)
			m := dial(t, srv, "").wantError(tt.code, tt.status)
			if m.Message == "" || strings.Contains(m.Message, "secret") {
				t.Errorf("message %q", m.Message)
			}
			if err := srv.served(t); !errors.Is(err, tt.err) {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestBrokenAttachmentIsNoExit(t *testing.T) {
	s := newScripted()
	srv := serve(t, s.session(), nil)
	c := join(t, srv, "")
	s.say(output(0, []byte("before")), patience)
	close(s.messages)
	if _, data := c.next(); string(data) != "before" {
		t.Errorf("output %q", data)
	}
	if m := c.wantError(ws.CodeUnreachable, websocket.StatusInternalError); strings.Contains(m.Message, "secret") {
		t.Errorf("message %q", m.Message)
	}
	if err := srv.served(t); !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("Serve: %v", err)
	}
}

func TestOutputNeverHasAGap(t *testing.T) {
	s := newScripted()
	c := join(t, serve(t, s.session(), nil), "")
	s.say(output(0, []byte("abc")), patience)
	s.say(output(4, []byte("e")), patience)
	if _, data := c.next(); string(data) != "abc" {
		t.Errorf("output %q", data)
	}
	c.wantError(ws.CodeInternal, websocket.StatusInternalError)
}

func TestServerStops(t *testing.T) {
	srv := serve(t, newScripted().session(), nil)
	c := join(t, srv, "")
	srv.end(nil)
	if m := c.nextOf("detached"); m.Reason != terminal.DetachStop {
		t.Errorf("detached %+v", m)
	}
	if got := c.closed(); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v", got)
	}
	if err := srv.served(t); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestCallerHasEnded(t *testing.T) {
	srv := serve(t, newScripted().session(), nil)
	c := join(t, srv, "")
	srv.end(ws.ErrUnauthorized)
	c.wantError(ws.CodeUnauthorized, websocket.StatusPolicyViolation)
	if err := srv.served(t); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// The same words while it attaches: a login that ends then is no session that
// cannot be reached, for which a client would come back.
func TestEndsWhileItAttaches(t *testing.T) {
	attaching := func(t *testing.T) (*server, *client) {
		s := scriptedSession{attaching: make(chan struct{})}
		srv := serve(t, s, nil)
		c := dial(t, srv, "")
		testenv.Receive(t, patience, "attach begins", s.attaching)
		return srv, c
	}
	t.Run("login", func(t *testing.T) {
		srv, c := attaching(t)
		srv.end(ws.ErrUnauthorized)
		c.wantError(ws.CodeUnauthorized, websocket.StatusPolicyViolation)
		if err := srv.served(t); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Run("server", func(t *testing.T) {
		srv, c := attaching(t)
		srv.end(nil)
		if m := c.nextOf("detached"); m.Reason != terminal.DetachStop {
			t.Errorf("detached %+v", m)
		}
		if got := c.closed(); got != websocket.StatusGoingAway {
			t.Errorf("closed with %v", got)
		}
	})
}

func TestSilentPeerIsGone(t *testing.T) {
	s := newScripted()
	srv := serve(t, s.session(), func(o *ws.Options) { o.Silence = time.Second })
	dial(t, srv, "") // reads nothing, so it answers no ping
	if err := srv.served(t); err == nil || !strings.Contains(err.Error(), "silent") {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-s.closed:
	default:
		t.Error("the attachment is still open")
	}
}

// notSilent tries three times, with a longer silence each time, whether a peer is
// taken for silent that is not: a busy machine may answer too late.
func notSilent(t *testing.T, try func(silence time.Duration) error) {
	t.Helper()
	var err error
	for _, silence := range []time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second} {
		if err = try(silence); err == nil {
			return
		}
		t.Logf("within %v: %v", silence, err)
	}
	t.Error(err)
}

func TestQuietPeerThatAnswersPingsStays(t *testing.T) {
	t.Parallel()
	notSilent(t, func(silence time.Duration) error {
		srv := serve(t, newScripted().session(), func(o *ws.Options) { o.Silence = silence })
		c := join(t, srv, "")
		ctx := c.conn.CloseRead(c.ctx) // answers pings, says nothing
		select {
		case err := <-srv.errs:
			return fmt.Errorf("Serve: %w", err)
		case <-ctx.Done():
			return errors.New("the server closed the connection")
		case <-time.After(2 * silence): // that nothing happens has no event
			return nil
		}
	})
}

func TestPeerThatWaitsForTheProgramIsNotSilent(t *testing.T) {
	t.Parallel()
	notSilent(t, func(silence time.Duration) error {
		s := newScripted()
		srv := serve(t, s.session(), func(o *ws.Options) { o.Silence = silence })
		c := join(t, srv, "")
		const size = 16 << 20 // more than inbox and sockets hold
		var writer sync.WaitGroup
		defer writer.Wait()
		defer c.conn.CloseNow() // all of it is through, or nobody takes it
		writer.Go(func() {
			for range size >> 16 {
				if c.conn.Write(c.ctx, websocket.MessageBinary, make([]byte, 64<<10)) != nil {
					return
				}
			}
		})
		select {
		case err := <-srv.errs:
			return fmt.Errorf("Serve: %w", err)
		case <-time.After(2 * silence): // that nothing happens has no event
		}
		for typed := 0; typed < size; {
			select {
			case p := <-s.inputs:
				typed += len(p)
			case err := <-srv.errs:
				return fmt.Errorf("Serve: %w, after %d bytes", err, typed)
			}
		}
		return nil
	})
}
