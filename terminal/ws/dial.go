package ws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"middleman/terminal"
)

const (
	// maxScreen bounds the bytes that draw a snapshot, and so the memory that a
	// server can make an attachment use.
	maxScreen = 32 << 20
	// maxData bounds any other binary message, maxText a text message.
	maxData = 1 << 20
	maxText = 64 << 10
	// ackEvery is how many bytes are received between two acknowledgements.
	ackEvery = 64 << 10
	// writeTimeout bounds one small message to the server. Input may take longer:
	// it waits for the program.
	writeTimeout = 10 * time.Second
)

// Dial joins a session by the WebSocket at address, which another process serves
// with Serve. ctx bounds the joining alone. The errors are those of
// terminal.Session.Attach; all that cannot be told is terminal.ErrUnreachable.
//
// What the server sends is checked and bounded, and its error texts are not
// used. A server that sends nothing for 45 seconds, not even an answer to a
// ping, is unreachable. The attachment acknowledges what Receive returned when
// Receive is called again, so a viewer that does not receive stops the server.
func Dial(ctx context.Context, client *http.Client, address string, header http.Header, o terminal.AttachOptions) (terminal.Attachment, error) {
	a := &dialled{mode: o.Mode, silence: silence, closed: make(chan struct{})}
	conn, response, err := websocket.Dial(ctx, address+"?"+Query(o).Encode(), &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
		OnPingReceived: func(context.Context, []byte) bool { a.heard.Store(time.Now().UnixNano()); return true },
	})
	if err != nil {
		return nil, notJoined(response, err)
	}
	conn.SetReadLimit(maxScreen)
	a.conn = conn
	stop := context.AfterFunc(ctx, func() { conn.CloseNow() })
	err = a.readHello()
	if !stop() && err == nil {
		err = fmt.Errorf("%w: %w", terminal.ErrUnreachable, context.Cause(ctx))
	}
	if err != nil {
		conn.CloseNow()
		return nil, err
	}
	a.watching.Go(a.watch)
	return a, nil
}

// notJoined returns the error for a handshake that failed.
func notJoined(response *http.Response, err error) error {
	if response == nil {
		return fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	var p struct{ Code string }
	raw, readErr := io.ReadAll(io.LimitReader(response.Body, maxText))
	if readErr != nil || json.Unmarshal(raw, &p) != nil {
		p.Code = ""
	}
	return refused(errorMessage{Code: p.Code})
}

// refused returns the error for a message of Serve's, by its code.
func refused(m errorMessage) error {
	if m.Code == CodeWriterBusy {
		busy := &terminal.BusyError{}
		if m.Writer != nil {
			busy.Writer = *m.Writer
		}
		return busy
	}
	for _, known := range []struct {
		code string
		err  error
	}{
		{CodeTooManyViewers, terminal.ErrTooManyViewers},
		{CodeNotFound, terminal.ErrNotFound},
		{CodeEnded, terminal.ErrGone},
		{CodeForbidden, terminal.ErrNotWriter},
		{CodeUnauthorized, ErrUnauthorized},
		{CodeUnsupported, errors.ErrUnsupported},
	} {
		if m.Code == known.code {
			return known.err
		}
	}
	return fmt.Errorf("%w: the server could not join it", terminal.ErrUnreachable)
}

// dialled is an attachment by a WebSocket.
type dialled struct {
	conn    *websocket.Conn
	mode    terminal.Mode
	hello   terminal.Hello
	silence time.Duration

	heard     atomic.Int64 // when the server last sent something, or Receive began; in nanoseconds since 1970
	receiving atomic.Bool

	// The fields below belong to the caller of Receive.
	offset uint64 // of the next byte
	acked  uint64
	buf    []byte
	ended  bool // the last message was returned

	once     sync.Once
	closed   chan struct{}
	watching sync.WaitGroup
}

func (a *dialled) Hello() terminal.Hello { return a.hello }

func (a *dialled) readHello() error {
	kind, p, err := a.read(false)
	if err != nil {
		return err
	}
	var m helloMessage
	var failed errorMessage
	if kind != websocket.MessageText || json.Unmarshal(p, &m) != nil || json.Unmarshal(p, &failed) != nil {
		return broke("its first message is not of the protocol")
	}
	if m.Type == "error" {
		return refused(failed)
	}
	if m.Type != "hello" {
		return broke("its first message is not of the protocol")
	}
	a.hello = terminal.Hello{
		Offset: m.Offset, Head: m.Head, Oldest: m.Oldest, Size: m.Size, Title: m.Title,
		Writer: m.Writer, Clipboard: m.Clipboard, HostAnswers: m.HostAnswers,
	}
	a.offset, a.acked = m.Offset, m.Offset
	return nil
}

// broke returns the error for a server that breaks the protocol.
func broke(how string) error {
	return fmt.Errorf("%w: the server broke the protocol: %s", terminal.ErrUnreachable, how)
}

// read returns the next message. Its bytes are valid until the next read.
func (a *dialled) read(screen bool) (websocket.MessageType, []byte, error) {
	kind, r, err := a.conn.Reader(context.Background()) // closing conn wakes it
	if err != nil {
		return 0, nil, lost(err)
	}
	limit := maxText
	switch {
	case kind == websocket.MessageBinary && screen:
		limit = maxScreen
	case kind == websocket.MessageBinary:
		limit = maxData
	}
	if cap(a.buf) > maxData || a.buf == nil {
		a.buf = make([]byte, 0, maxOutput+512)
	}
	for a.buf = a.buf[:0]; ; {
		if len(a.buf) == cap(a.buf) {
			a.buf = append(a.buf, 0)[:len(a.buf)]
		}
		n, err := r.Read(a.buf[len(a.buf):cap(a.buf)])
		a.buf = a.buf[:len(a.buf)+n]
		switch {
		case len(a.buf) > limit:
			return 0, nil, broke(fmt.Sprintf("a message has more than %d bytes", limit))
		case errors.Is(err, io.EOF):
			a.heard.Store(time.Now().UnixNano())
			return kind, a.buf, nil
		case err != nil:
			return 0, nil, lost(err)
		}
	}
}

// lost is the error of a connection that broke. It is never io.EOF, which marks the
// regular end of an attachment.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
}

// Receive implements terminal.Attachment.
func (a *dialled) Receive() (terminal.Message, error) {
	if a.ended {
		return terminal.Message{}, io.EOF
	}
	a.heard.Store(time.Now().UnixNano())
	a.receiving.Store(true)
	defer a.receiving.Store(false)
	if a.offset-a.acked >= ackEvery {
		a.acked = a.offset
		a.writeText(clientMessage{Type: typeAck, Offset: a.offset}) // an error shows at the read
	}
	size := 0 // of the screen that comes, 0 if that is not known
	for screen := false; ; {
		kind, p, err := a.read(screen)
		switch {
		case err != nil:
			return terminal.Message{}, err
		case kind == websocket.MessageBinary && screen && size > 0 && len(p) != size:
			// The library takes a connection that ends between two reads of a message
			// for the end of the message.
			return terminal.Message{}, broke("a screen is cut")
		case kind == websocket.MessageBinary && screen:
			return terminal.Message{Kind: terminal.MessageSnapshot, Offset: a.offset, Data: p}, nil
		case kind == websocket.MessageBinary:
			at := a.offset
			a.offset += uint64(len(p))
			return terminal.Message{Kind: terminal.MessageOutput, Offset: at, Data: p}, nil
		case screen:
			return terminal.Message{}, broke("no screen follows a snapshot")
		}
		m, known, err := decodeServer(p)
		if err != nil {
			return terminal.Message{}, err
		}
		switch {
		case m.Kind == terminal.MessageSnapshot:
			screen, size, a.offset, a.acked = true, m.screen, m.Offset, m.Offset
		case m.Kind == terminal.MessageDetached && m.Reason == terminal.DetachStop && a.serverStops():
			return terminal.Message{}, fmt.Errorf("%w: the server stops", terminal.ErrUnreachable)
		case known:
			a.ended = m.Kind == terminal.MessageDetached || m.Kind == terminal.MessageExit
			return m.Message, nil
		}
	}
}

// serverStops reports whether the last message was about the server and not about
// the session: the server tells that by the status with which it closes.
func (a *dialled) serverStops() bool {
	_, _, err := a.conn.Reader(context.Background())
	return websocket.CloseStatus(err) != websocket.StatusNormalClosure
}

// received is a text message of Serve's.
type received struct {
	terminal.Message
	screen int // the bytes of the screen that a snapshot announces
}

// decodeServer decodes a text message of Serve's. known is false for one of a
// type that this build does not know. A message of the type error is returned as
// the error that it means.
func decodeServer(p []byte) (m received, known bool, err error) {
	var head struct{ Type string }
	if err := json.Unmarshal(p, &head); err != nil {
		return m, false, broke("a text message is no JSON")
	}
	var into any
	var snapshot snapshotMessage
	var event eventMessage
	var detached detachedMessage
	var exit exitMessage
	var failed errorMessage
	switch head.Type {
	case "snapshot":
		m.Kind, into = terminal.MessageSnapshot, &snapshot
	case "event":
		m.Kind, into = terminal.MessageEvent, &event
	case "detached":
		m.Kind, into = terminal.MessageDetached, &detached
	case "exit":
		m.Kind, into = terminal.MessageExit, &exit
	case "error":
		into = &failed
	default:
		return m, false, nil
	}
	if err := json.Unmarshal(p, into); err != nil {
		return received{}, false, broke("a message of the type " + head.Type + " cannot be read")
	}
	if head.Type == "error" {
		return received{}, false, refused(failed)
	}
	m.screen = snapshot.Bytes
	m.Offset, m.Event, m.Reason, m.Exit = snapshot.Offset, event.Event, detached.Reason, exit.Exit
	if detached.Writer != nil {
		m.Event.Writer = detached.Writer
	}
	return m, true, nil
}

// Input implements terminal.Attachment. It blocks while the server does not read,
// and is woken by Close.
func (a *dialled) Input(p []byte) error {
	if a.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	for len(p) > 0 {
		n := min(len(p), maxOutput)
		if err := a.conn.Write(context.Background(), websocket.MessageBinary, p[:n]); err != nil {
			return fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
		}
		p = p[n:]
	}
	return nil
}

// Resize implements terminal.Attachment.
func (a *dialled) Resize(s terminal.Size) error {
	if a.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	return a.writeText(clientMessage{Type: typeResize, Size: s})
}

// Ack implements terminal.Attachment. Receive acknowledges by itself.
func (a *dialled) Ack(uint64) error { return nil }

// Close implements terminal.Attachment.
func (a *dialled) Close() error {
	a.once.Do(func() {
		close(a.closed)
		a.conn.CloseNow()
	})
	a.watching.Wait()
	return nil
}

func (a *dialled) writeText(m clientMessage) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err := a.conn.Write(ctx, websocket.MessageText, encode(m)); err != nil {
		return fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	return nil
}

// watch pings a server that is silent while Receive waits, and closes the
// connection of one that stays silent.
func (a *dialled) watch() {
	tick := time.NewTicker(a.silence / 9)
	defer tick.Stop()
	for {
		select {
		case <-a.closed:
			return
		case <-tick.C:
		}
		if !a.receiving.Load() {
			continue
		}
		switch idle := time.Since(time.Unix(0, a.heard.Load())); {
		case idle >= a.silence:
			a.conn.CloseNow()
			return
		case idle >= a.silence/3:
			a.writeText(clientMessage{Type: typePing}) // an error shows at the read
		}
	}
}
