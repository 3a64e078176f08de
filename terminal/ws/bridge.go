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
	// closeTimeout bounds the last message to a client when the server stops.
	closeTimeout = 2 * time.Second
	// drainTimeout bounds how long input of a client that has left may wait
	// for a program that does not read.
	drainTimeout = 5 * time.Second
)

// bridge joins one WebSocket and one attachment.
type bridge struct {
	conn       *websocket.Conn
	attachment terminal.Attachment
	prompt     terminal.PromptAttachment // attachment where it can be, else nil
	// receive is the attachment's Receive. For a writer it blocks a thread of
	// its own where it can: the runtime's poller would also wake each time that
	// the owner has read a key.
	receive func() (terminal.Message, error)
	mode    terminal.Mode
	silence time.Duration
	out     *outbox
	in      *inbox

	// In nanoseconds since 1970, for watchPeer.
	lastHeard    atomic.Int64 // when the peer last sent something, or we began to listen again
	writeStarted atomic.Int64 // when the present write began, 0 without one
	inputBlocked atomic.Bool  // upLoop waits for the program, so it hears nothing

	once   sync.Once
	ended  chan struct{} // closed once ending is set
	ending ending
	closed chan struct{} // closed once conn is
}

// ending says how a connection ends. The first one counts.
type ending struct {
	last     any // the last message, or nil
	status   websocket.StatusCode
	peerGone bool // the peer hears nothing any more
	err      error
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
	b.markHeard()
	return b
}

// run serves the connection to its end.
func (b *bridge) run(ctx context.Context) error {
	b.sendHello()
	var input, others sync.WaitGroup
	input.Go(b.endOnPanic(b.inputLoop))
	others.Go(b.endOnPanic(b.upLoop))
	others.Go(b.endOnPanic(b.downLoop))
	others.Go(b.endOnPanic(b.watchPeer))
	others.Go(b.endOnPanic(func() { b.watchServer(ctx) }))
	b.endOnPanic(b.sendLoop)()
	b.sendLast()
	close(b.closed)

	closeAttachment := sync.OnceFunc(func() { b.attachment.Close() })
	late := time.AfterFunc(drainTimeout, closeAttachment)
	input.Wait()
	late.Stop()
	closeAttachment()
	others.Wait()
	return b.ending.err
}

// endOnPanic wraps f so that a panic of f ends this connection and nothing
// else.
func (b *bridge) endOnPanic(f func()) func() {
	return func() {
		defer func() {
			if v := recover(); v != nil {
				b.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		f()
	}
}

func (b *bridge) sendHello() {
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
		b.out.close(e.peerGone)
		b.in.close(!e.peerGone)
	})
}

// fail ends the connection with an error that the client is told of.
func (b *bridge) fail(err error) {
	message, status := refusal(err)
	b.end(ending{last: message, status: status, err: err})
}

func (b *bridge) markHeard() { b.lastHeard.Store(time.Now().UnixNano()) }

// upLoop: WebSocket -> inbox, until the connection is closed.
func (b *bridge) upLoop() {
	for {
		kind, p, err := b.conn.Read(context.Background()) // closing conn wakes it
		if err != nil {
			b.end(ending{peerGone: true, err: connectionError(err)})
			return
		}
		b.markHeard()
		if kind == websocket.MessageBinary {
			err = b.submit(inboxItem{input: p})
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
		return b.submit(inboxItem{resize: &m.Size})
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

// submit sends input to the program at once if the attachment can and nothing
// is queued. All else that only the writer may send goes into the inbox.
// submit blocks while the inbox is full; the peer is not read then, and does
// not count as silent.
func (b *bridge) submit(item inboxItem) error {
	if b.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	if b.prompt != nil && len(item.input) > 0 && b.in.idle() && b.prompt.InputNow(item.input) {
		return nil
	}
	b.inputBlocked.Store(true)
	b.in.add(item)
	b.markHeard()
	b.inputBlocked.Store(false)
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
		if errors.Is(err, io.EOF) { // without a last message: the client must not wait for one
			err = fmt.Errorf("%w: it ended without an exit", terminal.ErrUnreachable)
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

// onOutput sends a small output directly where nothing is queued, because
// waking sendLoop would cost more. All else goes into the outbox.
func (b *bridge) onOutput(offset uint64, p []byte) error {
	if !b.out.claim(offset, len(p)) {
		return b.out.addOutput(offset, p)
	}
	defer b.out.release()
	if err := b.write(websocket.MessageBinary, p); err != nil {
		b.end(ending{peerGone: true, err: connectionError(err)})
	}
	return nil
}

// sendLoop: outbox -> WebSocket, until the outbox is closed and empty.
func (b *bridge) sendLoop() {
	var item outboxItem
	for {
		var ok bool
		if item, ok = b.out.next(item); !ok {
			return
		}
		if err := b.write(item.kind, item.data); err != nil {
			b.end(ending{peerGone: true, err: connectionError(err)})
			return
		}
	}
}

// write has no deadline of its own, because that would be a timer for each
// keystroke. watchPeer closes conn when a write takes too long.
func (b *bridge) write(kind websocket.MessageType, p []byte) error {
	b.writeStarted.Store(time.Now().UnixNano())
	defer b.writeStarted.Store(0)
	return b.conn.Write(context.Background(), kind, p)
}

// sendLast sends the last message and closes conn. A peer that has left
// meanwhile changes nothing about how the connection ended.
func (b *bridge) sendLast() {
	<-b.ended
	e := b.ending
	if e.last != nil && b.write(websocket.MessageText, encode(e.last)) != nil {
		e.peerGone = true
	}
	if e.peerGone {
		b.conn.CloseNow()
		return
	}
	b.conn.Close(e.status, "")
}

// watchPeer ends the connection of a peer that sends nothing, or accepts
// nothing, for the time of silence.
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
			b.end(ending{peerGone: true, err: fmt.Errorf("peer was silent for %v", b.silence)})
			b.conn.CloseNow()
			return
		}
		if idle >= b.silence/3 {
			b.ping(b.silence - idle)
		}
	}
}

// idle returns how long the peer has sent nothing while we were reading, and
// how long the present write takes.
func (b *bridge) idle(now time.Time) (idle, stalled time.Duration) {
	if !b.inputBlocked.Load() {
		idle = now.Sub(time.Unix(0, b.lastHeard.Load()))
	}
	if since := b.writeStarted.Load(); since != 0 {
		stalled = now.Sub(time.Unix(0, since))
	}
	return idle, stalled
}

// ping sends a ping and waits for the pong, which counts as a message of the
// peer. Without one, the next tick of watchPeer decides.
func (b *bridge) ping(wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if b.conn.Ping(ctx) == nil {
		b.markHeard()
	}
}

// watchServer ends the connection when the server stops or the client's login
// ends.
func (b *bridge) watchServer(ctx context.Context) {
	select {
	case <-b.closed:
		return
	case <-ctx.Done():
	}
	message, status := stopMessage(ctx)
	b.end(ending{last: message, status: status})
	select {
	case <-b.closed:
	case <-time.After(closeTimeout):
		b.conn.CloseNow() // a client that takes nothing does not hold the server
	}
}

// connectionError is the error of a connection that broke, nil where the peer
// closed it.
func connectionError(err error) error {
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return nil
	}
	return fmt.Errorf("connection to the browser: %w", err)
}
