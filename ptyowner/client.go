package ptyowner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/poll"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	// dialTime bounds the set-up of a connection. An owner answers within
	// microseconds; a stopped one (SIGSTOP) does not answer at all.
	dialTime = 5 * time.Second
	// maxSnapshot bounds the bytes that a client collects from snapshot frames.
	maxSnapshot = 64 << 20
)

// client is an authenticated connection to an owner.
type client struct {
	session string
	build   string // of the owner, from owner.json
	conn    clientConn
	r       *wire.Reader
	welcome wire.Welcome

	raw    syscall.RawConn // of conn; nil if conn has none
	sendMu sync.Mutex      // held to send a frame; guards out
	out    []byte          // reused for frames
}

// clientConn is the part of net.Conn that a client uses.
type clientConn interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
}

// dial connects to the owner that r names. Every error is
// terminal.ErrUnreachable, except for an Error frame of the owner.
func dial(ctx context.Context, session string, r state.Record, hello wire.Hello) (*client, error) {
	if err := understands(session, r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := private.Dir(filepath.Dir(r.Socket)); err != nil {
		return nil, unreachable(session, "check where the owner's socket is", err)
	}
	conn, err := ipc.Dial(ctx, r.Socket)
	if err != nil {
		return nil, unreachable(session, "connect to owner", err)
	}
	if err := ipc.CheckPeer(conn); err != nil {
		conn.Close()
		return nil, unreachable(session, "check who listens on "+r.Socket, err)
	}
	c := &client{session: session, build: r.Build, conn: conn, r: wire.NewReader(conn)}
	if sc, ok := conn.(syscall.Conn); ok {
		c.raw, _ = sc.SyscallConn() // if nil, sendInputNow never sends
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	err = c.greet(r, hello)
	if !stop() && err == nil {
		err = unreachable(session, "greet owner", context.Cause(ctx))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// greet sends Hello and reads the Welcome.
func (c *client) greet(r state.Record, hello wire.Hello) error {
	hello.MinVersion, hello.MaxVersion, hello.Token = wire.MinVersion, wire.MaxVersion, r.Token
	if err := c.send(wire.AppendControl(nil, wire.TypeHello, hello)); err != nil {
		return unreachable(c.session, "greet owner", err)
	}
	for {
		t, payload, err := c.r.Read(wire.MaxFrame)
		if err != nil {
			return unreachable(c.session, "greet owner", err)
		}
		switch {
		case t == wire.TypeWelcome:
			return c.onWelcome(payload)
		case t == wire.TypeError:
			return c.refusal(t, payload)
		case t.Known():
			return unreachable(c.session, "greet owner", fmt.Errorf("unexpected frame type %d", t))
		}
	}
}

// onWelcome decodes the Welcome and checks that it names the right session.
func (c *client) onWelcome(payload []byte) error {
	if err := wire.ParseControl(wire.TypeWelcome, payload, &c.welcome); err != nil {
		return unreachable(c.session, "read owner's welcome", err)
	}
	if c.welcome.Session != c.session {
		return unreachable(c.session, "greet owner", fmt.Errorf("it runs session %s", c.welcome.Session))
	}
	return nil
}

// refusal converts an Error frame to an error of package terminal.
func (c *client) refusal(t wire.Type, payload []byte) error {
	var e wire.Error
	if err := wire.ParseControl(t, payload, &e); err != nil {
		return unreachable(c.session, "read owner's refusal", err)
	}
	return terminalError(c.session, &e)
}

// terminalError converts an owner's error to one that callers can branch on.
func terminalError(session string, e *wire.Error) error {
	switch e.Code {
	case wire.CodeBusy:
		busy := &terminal.BusyError{Session: session}
		if w := (*terminal.Writer)(e.Writer); w != nil {
			busy.Writer = *w
		}
		return busy
	case wire.CodeViewers:
		return fmt.Errorf("%w: %s", terminal.ErrTooManyViewers, e.Text)
	case wire.CodeRange:
		return fmt.Errorf("%w: %s", terminal.ErrRange, e.Text)
	case wire.CodeEnded:
		return fmt.Errorf("session %s: %w", session, terminal.ErrEnded)
	case wire.CodeChanged:
		return fmt.Errorf("session %s: %w", session, &said{e.Text, terminal.ErrChanged})
	case wire.CodeNotRead:
		return &terminal.NotReadError{Session: session, Typed: e.Typed}
	case wire.CodeNotWriter:
		return fmt.Errorf("session %s: %w", session, terminal.ErrNotWriter)
	case wire.CodeVersion:
		return &versionError{session, e.Text}
	case wire.CodeUnknown:
		return fmt.Errorf("session %s: %s: %w", session, e.Text, errors.ErrUnsupported)
	}
	return fmt.Errorf("session %s: %s", session, e.Text)
}

// said is an error of ours in the owner's words.
type said struct {
	text string
	err  error
}

func (e *said) Error() string { return e.text }
func (e *said) Unwrap() error { return e.err }

// unreachable reports that the owner did not answer, which does not prove that
// it ended. The error is never io.EOF, which marks the regular end of an
// attachment.
func unreachable(session, doing string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("session %s: %s: %w: %w", session, doing, terminal.ErrUnreachable, err)
}

// withCause returns err, joined on one line with cause unless that is nil.
func withCause(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (c *client) send(frame []byte) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	return c.write(frame)
}

// write is send with sendMu held.
func (c *client) write(frame []byte) error {
	if _, err := c.conn.Write(frame); err != nil {
		return unreachable(c.session, "send to owner", err)
	}
	return nil
}

// sendInput sends p in as many frames as needed, with no other frame between
// them.
func (c *client) sendInput(p []byte) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	for len(p) > 0 {
		part := p[:min(len(p), wire.MaxFrame)]
		p = p[len(part):]
		c.out = wire.AppendFrame(c.out[:0], wire.TypeInput, part)
		if err := c.write(c.out); err != nil {
			return err
		}
	}
	return nil
}

// sendInputNow sends p as one frame if it need not wait to begin, and reports
// whether it did. If the socket takes only a part of the frame,
// sendInputNow waits to send the rest.
func (c *client) sendInputNow(p []byte) bool {
	if c.raw == nil || len(p) > poll.PromptBytes || !c.sendMu.TryLock() {
		return false
	}
	defer c.sendMu.Unlock()
	c.out = wire.AppendFrame(c.out[:0], wire.TypeInput, p)
	n := poll.WriteNow(c.raw, c.out)
	if n > 0 && n < len(c.out) {
		_ = c.write(c.out[n:]) // the goroutine that receives learns why it failed
	}
	return n > 0
}

// request sends a request on a connection of mode control and decodes the
// result. Only one request may run at a time. It ends with ctx.
func (c *client) request(ctx context.Context, verb wire.Verb, args, result any) (part []byte, err error) {
	if err := c.can(verb, args); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Now()) })
	defer stop()
	if err := c.send(wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 1, Verb: verb, Args: raw})); err != nil {
		return nil, withCause(err, ctx.Err())
	}
	for {
		reply, err := c.readReply()
		if err != nil {
			return nil, withCause(err, ctx.Err())
		}
		if reply.Error != nil {
			return nil, terminalError(c.session, reply.Error)
		}
		part = append(part, reply.Part...)
		if reply.More {
			continue
		}
		if err := json.Unmarshal(reply.Result, result); err != nil {
			return nil, unreachable(c.session, "read owner's reply", err)
		}
		return part, nil
	}
}

// readReply reads the next Reply and skips other frames.
func (c *client) readReply() (reply wire.Reply, err error) {
	for {
		t, payload, err := c.r.Read(wire.MaxFrame)
		if err != nil {
			return reply, unreachable(c.session, "read owner's reply", err)
		}
		switch t {
		case wire.TypeReply:
			if err := wire.ParseControl(t, payload, &reply); err != nil {
				return reply, unreachable(c.session, "read owner's reply", err)
			}
			return reply, nil
		case wire.TypeError:
			return reply, c.refusal(t, payload)
		}
	}
}

// close ends the connection and wakes each goroutine that blocks on it. It may
// be called more than once.
func (c *client) close() error {
	if err := c.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// attachment is a viewer's connection; see terminal.Attachment.
type attachment struct {
	c         *client
	s         *session
	questions questions
	seen      seen
	mode      terminal.Mode
	clipboard terminal.Clipboard
	snapshot  []byte      // reused
	last      atomic.Bool // the last message was received
}

func (a *attachment) Hello() terminal.Hello {
	w := a.c.welcome
	return terminal.Hello{
		Offset: w.Offset, Head: w.Head, Oldest: w.Oldest,
		Size: terminal.Size(w.Size), Title: w.Title, PID: w.PID, Writer: (*terminal.Writer)(w.Writer),
		Clipboard: a.clipboard, HostAnswers: w.HostAnswers,
	}
}

// Receive reads the next frame that has a meaning for a viewer.
func (a *attachment) Receive() (m terminal.Message, err error) {
	defer func() {
		if err != nil || a.last.Load() {
			a.questions.end()
		}
	}()
	if a.last.Load() {
		return m, io.EOF
	}
	a.snapshot = a.snapshot[:0]
	for {
		t, payload, err := a.c.r.Read(wire.MaxFrame)
		if err != nil {
			return m, unreachable(a.c.session, "read from owner", err)
		}
		done, m, err := a.onFrame(t, payload)
		if err != nil || done {
			return m, err
		}
	}
}

// onFrame converts a frame to a message. done is false if the message needs
// more frames, or if the type of the frame is unknown.
func (a *attachment) onFrame(t wire.Type, payload []byte) (done bool, m terminal.Message, err error) {
	switch t {
	case wire.TypeOutput:
		m.Kind = terminal.MessageOutput
		m.Offset, m.Data, err = wire.ParseData(payload)
	case wire.TypeSnapshot:
		return a.onSnapshot(payload)
	case wire.TypeEvent:
		var e wire.Event
		err = wire.ParseControl(t, payload, &e)
		m.Kind, m.Event = terminal.MessageEvent, terminalEvent(e)
	case wire.TypeDetached:
		var d wire.Detached
		err = wire.ParseControl(t, payload, &d)
		m.Kind, m.Reason = terminal.MessageDetached, terminal.DetachReason(d.Reason)
		m.Event.Writer = (*terminal.Writer)(d.Writer)
		a.last.Store(true)
	case wire.TypeExit:
		var e wire.Exit
		err = wire.ParseControl(t, payload, &e)
		m.Kind, m.Exit = terminal.MessageExit, terminalExit(e)
		a.last.Store(true)
		if err == nil {
			// The exit is on disk, so an owner that has ended needs no Ack.
			_ = a.Ack(m.Exit.Offset)
		}
	case wire.TypeError:
		return true, m, a.c.refusal(t, payload)
	case wire.TypeReply:
		var reply wire.Reply
		if err = wire.ParseControl(t, payload, &reply); err == nil {
			a.questions.answer(reply)
			return false, m, nil
		}
	default:
		return false, m, nil
	}
	if err != nil {
		err = unreachable(a.c.session, "read from owner", err)
	}
	return true, m, err
}

// onSnapshot collects a snapshot. A frame of less than MaxData bytes ends it.
func (a *attachment) onSnapshot(payload []byte) (done bool, m terminal.Message, err error) {
	offset, data, err := wire.ParseData(payload)
	if err == nil && len(a.snapshot)+len(data) > maxSnapshot {
		err = fmt.Errorf("snapshot has more than %d bytes", maxSnapshot)
	}
	if err != nil {
		return true, m, unreachable(a.c.session, "read snapshot", err)
	}
	a.snapshot = append(a.snapshot, data...)
	if len(data) == wire.MaxData {
		return false, m, nil
	}
	return true, terminal.Message{Kind: terminal.MessageSnapshot, Offset: offset, Data: a.snapshot}, nil
}

// canWrite returns nil, or the reason why this viewer may not type or resize.
func (a *attachment) canWrite() error {
	switch {
	case a.mode != terminal.ModeAttach:
		return terminal.ErrNotWriter
	case a.last.Load():
		return fmt.Errorf("session %s: %w", a.c.session, terminal.ErrEnded)
	}
	return nil
}

func (a *attachment) Input(p []byte) error {
	if err := a.canWrite(); err != nil {
		return err
	}
	return a.c.sendInput(p)
}

// InputNow implements terminal.PromptAttachment.
func (a *attachment) InputNow(p []byte) bool {
	if a.canWrite() != nil || len(p) == 0 || !a.c.sendInputNow(p) {
		return false
	}
	if file, ok := a.c.conn.(interface{ Expect() }); ok {
		file.Expect() // the echo
	}
	return true
}

func (a *attachment) Resize(s terminal.Size) error {
	if err := a.canWrite(); err != nil {
		return err
	}
	return a.c.send(wire.AppendControl(nil, wire.TypeResize, wire.Size(s)))
}

func (a *attachment) Ack(offset uint64) error {
	return a.c.send(wire.AppendAck(nil, offset))
}

func (a *attachment) Close() error { return a.c.close() }

// The wire has its own types, because they are permanent and those of package
// terminal are not.

func terminalExit(e wire.Exit) terminal.Exit {
	return terminal.Exit{
		Code: e.Code, Signal: e.Signal, SignalName: e.SignalName, Stopped: e.Stopped,
		Offset: e.Offset, Time: e.Time, Size: terminal.Size(e.Size), Title: e.Title,
	}
}

func terminalEvent(w wire.Event) terminal.Event {
	return terminal.Event{
		Kind: terminal.EventKind(w.Kind), Offset: w.Offset, Text: w.Text,
		Size: (*terminal.Size)(w.Size), Writer: (*terminal.Writer)(w.Writer),
	}
}
