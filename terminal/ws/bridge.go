package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"middleman/terminal"
)

const (
	// farewellTime bounds last words to a client when the server stops.
	farewellTime = 2 * time.Second
	// typeTime bounds how long what was typed before the client left may wait
	// for a program that does not read.
	typeTime = 5 * time.Second
)

// bridge joins one WebSocket and one attachment.
type bridge struct {
	conn       *websocket.Conn
	attachment terminal.Attachment
	prompt     terminal.PromptAttachment // attachment where it can be, else nil
	// receive is attachment's. Of a writer it is a thread's own wait: the
	// runtime's poller is also woken each time that the owner has read a key.
	receive func() (terminal.Message, error)
	mode    terminal.Mode
	silence time.Duration
	out     *outbox
	in      *inbox

	// In nanoseconds since 1970, for watchPeer.
	heard   atomic.Int64 // when the peer last sent something, or we began to listen again
	writing atomic.Int64 // when the present write began, 0 without one
	held    atomic.Bool  // upLoop waits for the program, so it hears nothing

	once   sync.Once
	ended  chan struct{} // closed once ending is set
	ending ending
	closed chan struct{} // closed once conn is
}

// ending says how a connection ends. The first one counts.
type ending struct {
	last   any // the last message, or nil
	status websocket.StatusCode
	gone   bool // the peer hears nothing any more
	err    error
}

func newBridge(conn *websocket.Conn, a terminal.Attachment, o Options) *bridge {
	b := &bridge{
		conn: conn, attachment: a, mode: o.Attach.Mode, silence: o.Silence,
		out: newOutbox(a.Hello().Offset), in: newInbox(),
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
	b.prompt, _ = a.(terminal.PromptAttachment)
	b.receive = a.Receive
	if lone, ok := a.(terminal.LoneAttachment); ok && b.mode == terminal.ModeAttach && lone.Alone() == nil {
		b.receive = func() (terminal.Message, error) {
			m, _, err := lone.ReceiveOr()
			return m, err
		}
	}
	b.hear()
	return b
}

// run serves the connection to its end.
func (b *bridge) run(ctx context.Context) error {
	b.greet()
	var input, others sync.WaitGroup
	input.Go(b.guard(b.inputLoop))
	others.Go(b.guard(b.upLoop))
	others.Go(b.guard(b.downLoop))
	others.Go(b.guard(b.watchPeer))
	others.Go(b.guard(func() { b.watchServer(ctx) }))
	b.guard(b.sendLoop)()
	b.farewell()
	close(b.closed)

	closeAttachment := sync.OnceFunc(func() { b.attachment.Close() })
	late := time.AfterFunc(typeTime, closeAttachment)
	input.Wait()
	late.Stop()
	closeAttachment()
	others.Wait()
	return b.ending.err
}

// guard makes a panic of f the end of this connection, and of nothing else.
func (b *bridge) guard(f func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				b.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		f()
	}
}

func (b *bridge) greet() {
	h := b.attachment.Hello()
	policy := terminal.ClipboardDeny
	if b.mode == terminal.ModeAttach {
		policy = h.Clipboard.Stricter(terminal.ClipboardAllow)
	}
	b.out.addText(helloMessage{
		Type: "hello", Offset: h.Offset, Head: h.Head, Oldest: h.Oldest,
		Size: h.Size, Title: h.Title, Writer: h.Writer, Mode: b.mode, Clipboard: policy, HostAnswers: h.HostAnswers,
	})
}

// end begins the end of the connection. What waits for the client is still
// sent unless it is gone; what the client typed is still typed then.
func (b *bridge) end(e ending) {
	b.once.Do(func() {
		b.ending = e
		close(b.ended)
		b.out.close(e.gone)
		b.in.close(!e.gone)
	})
}

// fail ends the connection with an error that the client is told of.
func (b *bridge) fail(err error) {
	message, status := refusal(err)
	b.end(ending{last: message, status: status, err: err})
}

func (b *bridge) hear() { b.heard.Store(time.Now().UnixNano()) }

// upLoop: WebSocket -> inbox, until the connection is closed.
func (b *bridge) upLoop() {
	for {
		kind, p, err := b.conn.Read(context.Background()) // closing conn wakes it
		if err != nil {
			b.end(ending{gone: true, err: lost(err)})
			return
		}
		b.hear()
		if kind == websocket.MessageBinary {
			err = b.submit(inItem{input: p})
		} else {
			err = b.onText(p)
		}
		if err != nil {
			b.fail(err)
		}
	}
}

func (b *bridge) onText(p []byte) error {
	m, err := decode(p)
	if err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	switch m.Type {
	case typeResize:
		return b.submit(inItem{resize: &m.Size})
	case typeAck:
		if err := b.out.ack(m.Offset); err != nil {
			return fmt.Errorf("%w: %w", errProtocol, err)
		}
		b.in.addAck(m.Offset)
	case typePing:
		b.out.addPong()
	}
	return nil
}

// submit types keys, and hands over what would have to wait, and what else only
// the writer may send. It blocks while too much waits for the program; the peer
// is not listened to then, and not silent.
func (b *bridge) submit(item inItem) error {
	if b.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	if b.prompt != nil && len(item.input) > 0 && b.in.idle() && b.prompt.InputNow(item.input) {
		return nil
	}
	b.held.Store(true)
	b.in.add(item)
	b.hear()
	b.held.Store(false)
	return nil
}

// inputLoop: inbox -> attachment, until the inbox is closed and empty. An
// error means that the program or the connection to it has ended; downLoop
// learns which, and tells the client.
func (b *bridge) inputLoop() {
	for {
		item, ok := b.in.next()
		switch {
		case !ok:
			return
		case item.ack != nil:
			_ = b.attachment.Ack(*item.ack)
		case item.resize != nil:
			_ = b.attachment.Resize(*item.resize)
		default:
			_ = b.attachment.Input(item.input)
		}
	}
}

// downLoop: attachment -> outbox, until the attachment's end.
func (b *bridge) downLoop() {
	for {
		m, err := b.receive()
		if errors.Is(err, io.EOF) {
			return // the last message ended the connection
		}
		if err != nil {
			b.fail(fmt.Errorf("receive: %w", err))
			return
		}
		switch m.Kind {
		case terminal.MessageOutput:
			if err := b.onOutput(m.Offset, m.Data); err != nil {
				b.fail(err)
				return
			}
		case terminal.MessageSnapshot:
			b.out.addSnapshot(m.Offset, m.Data)
		case terminal.MessageEvent:
			b.out.addText(eventMessage{"event", m.Event})
		case terminal.MessageDetached:
			b.end(ending{last: detachedMessage{"detached", m.Reason, m.Event.Writer}, status: websocket.StatusNormalClosure})
			return
		case terminal.MessageExit:
			b.end(ending{last: exitMessage{"exit", m.Exit}, status: websocket.StatusNormalClosure})
			return
		}
	}
}

// onOutput sends an echo from here where nothing waits to be sent, since waking
// sendLoop costs more; all else goes into the outbox.
func (b *bridge) onOutput(offset uint64, p []byte) error {
	if !b.out.claim(offset, len(p)) {
		return b.out.addOutput(offset, p)
	}
	defer b.out.release()
	if err := b.write(websocket.MessageBinary, p); err != nil {
		b.end(ending{gone: true, err: lost(err)})
	}
	return nil
}

// sendLoop: outbox -> WebSocket, until the outbox is closed and empty.
func (b *bridge) sendLoop() {
	var item outItem
	for {
		var ok bool
		if item, ok = b.out.next(item); !ok {
			return
		}
		if err := b.write(item.kind, item.data); err != nil {
			b.end(ending{gone: true, err: lost(err)})
			return
		}
	}
}

// write has no deadline of its own, as that would be a timer for each
// keystroke: watchPeer closes conn when a write takes too long.
func (b *bridge) write(kind websocket.MessageType, p []byte) error {
	b.writing.Store(time.Now().UnixNano())
	defer b.writing.Store(0)
	return b.conn.Write(context.Background(), kind, p)
}

// farewell sends the last message and closes conn. The peer may be gone by
// now, which takes nothing from how the connection ended.
func (b *bridge) farewell() {
	<-b.ended
	e := b.ending
	if e.last != nil && b.write(websocket.MessageText, encode(e.last)) != nil {
		e.gone = true
	}
	if e.gone {
		b.conn.CloseNow()
		return
	}
	b.conn.Close(e.status, "")
}

// watchPeer closes the connection of a peer that is silent or takes nothing.
func (b *bridge) watchPeer() {
	tick := time.NewTicker(b.silence / 9)
	defer tick.Stop()
	for {
		select {
		case <-b.closed:
			return
		case <-tick.C:
		}
		idle, stalled := b.idle(time.Now())
		if max(idle, stalled) >= b.silence {
			b.end(ending{gone: true, err: fmt.Errorf("peer was silent for %v", b.silence)})
			b.conn.CloseNow()
			return
		}
		if idle >= b.silence/3 {
			b.ping(b.silence - idle)
		}
	}
}

// idle is how long the peer has sent nothing while we listened, and how long
// the present write takes.
func (b *bridge) idle(now time.Time) (idle, stalled time.Duration) {
	if !b.held.Load() {
		idle = now.Sub(time.Unix(0, b.heard.Load()))
	}
	if since := b.writing.Load(); since != 0 {
		stalled = now.Sub(time.Unix(0, since))
	}
	return idle, stalled
}

// ping counts the pong as something heard. Without one, the next tick judges.
func (b *bridge) ping(wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if b.conn.Ping(ctx) == nil {
		b.hear()
	}
}

// watchServer says goodbye when the server stops, or the client's login ends.
func (b *bridge) watchServer(ctx context.Context) {
	select {
	case <-b.closed:
		return
	case <-ctx.Done():
	}
	message, status := parting(ctx)
	b.end(ending{last: message, status: status})
	select {
	case <-b.closed:
	case <-time.After(farewellTime):
		b.conn.CloseNow() // a client that takes nothing does not hold the server
	}
}

// lost is the error of a connection that broke, nil where the peer closed it.
func lost(err error) error {
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return nil
	}
	return fmt.Errorf("connection to the browser: %w", err)
}
