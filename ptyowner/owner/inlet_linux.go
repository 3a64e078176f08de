package owner

import (
	"errors"
	"net"
	"os"
	"time"

	"middleman/internal/poll"
	"middleman/ptyowner/wire"
)

// A key's way through the owner, while a writer is attached:
//
//  1. awaitOutput waits for the PTY and the writer's connection at once, in
//     one system call of one thread. For that, receiveLoop lends the connection.
//  2. A key comes: takeFrame reads it and types it.
//  3. The echo comes: readPTY journals it, sends it and draws it.
//
// takeFrame handles only input and acknowledgements, and only if it need not
// wait. It gives the connection and any other frame back to the writer's
// receiveLoop, which lends the connection again once it has acted on the frame.

// lending is a viewer's part of this. A viewer with the zero value never lends.
type lending struct {
	file  *poll.File     // the viewer's conn, if it can be lent
	frame chan backFrame // announces that the connection is back; has room for one
}

// backFrame comes back with a connection. If has is set it holds a frame, whose
// payload is valid until the next frame is read.
type backFrame struct {
	has     bool
	t       wire.Type
	payload []byte
}

// makeLendable takes conn, a writer's connection, from the runtime's poller. If
// this fails, the viewer keeps conn and never lends it.
func (v *viewer) makeLendable(conn *net.UnixConn) {
	file, err := poll.TakeConn(conn)
	if err != nil {
		logf("take a connection from the poller: %v", err)
		return
	}
	v.lending = lending{file: file, frame: make(chan backFrame, 1)}
	v.conn = file
	v.raw, _ = file.SyscallConn() // never fails
	v.r = wire.NewReaderFrom(v.r.Buffered(), file)
}

// nextFrame returns the next frame for receiveLoop to act on.
func (v *viewer) nextFrame() (wire.Type, []byte, error) {
	if v.lend() {
		if back := <-v.lending.frame; back.has {
			return back.t, back.payload, nil
		}
	}
	return v.r.Read(wire.MaxFrame)
}

// lend lends v's connection to readPTY, and reports whether it did.
func (v *viewer) lend() bool {
	o := v.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	pty := o.device()
	if v.lending.file == nil || pty == nil || !o.reading || o.writer != v || len(v.r.Buffered()) > 0 ||
		!o.lent.CompareAndSwap(nil, v) {
		return false
	}
	pty.Poke()
	return true
}

// giveBack ends what lend began. Only readPTY's goroutine calls it.
func (o *owner) giveBack(back backFrame) {
	if v := o.lent.Swap(nil); v != nil {
		v.lending.frame <- back
	}
}

// device returns the terminal's file, or nil if the host has none to wait for.
func (o *owner) device() *poll.File {
	if m, ok := o.term.(*ptyMaster); ok {
		f, _ := m.file.(*poll.File)
		return f
	}
	return nil
}

// awaitOutput is o.term.Await, but meanwhile acts on the frames of the
// connection that is lent.
func (o *owner) awaitOutput() error {
	pty := o.device()
	if pty == nil {
		return o.term.Await()
	}
	if !pty.Acquire() {
		return os.ErrClosed
	}
	defer pty.Release()
	for {
		if output, err := o.await(pty); output || err != nil {
			return err
		}
	}
}

// await waits for output to read. It also returns after it acted on a frame,
// and when the connection to wait for has changed.
func (o *owner) await(pty *poll.File) (output bool, err error) {
	v := o.lent.Load()
	if v == nil {
		return pty.AwaitWith(nil)
	}
	conn := v.lending.file
	if !conn.Acquire() {
		o.giveBack(backFrame{})
		return false, nil
	}
	defer conn.Release()
	output, err = pty.AwaitWith(conn)
	switch {
	case errors.Is(err, poll.ErrOther):
		o.takeFrame(v)
	case errors.Is(err, poll.ErrOtherGone):
		o.giveBack(backFrame{}) // receiveLoop's next Read returns the reason
	default:
		return output, err
	}
	return output, nil
}

// takeFrame acts on the next frame of the connection that v lends, if the whole
// frame has arrived and it need not wait.
func (o *owner) takeFrame(v *viewer) {
	v.lending.file.NoWait = true
	t, payload, err := v.r.Read(wire.MaxFrame)
	v.lending.file.NoWait = false
	switch {
	case errors.Is(err, poll.ErrWait):
		return
	case err != nil:
		o.giveBack(backFrame{}) // receiveLoop's next Read returns the same error
		return
	case t == wire.TypeInput:
		if !v.isWriter() {
			return
		}
		v.typed.Store(time.Now().UnixNano())
		if payload = payload[o.typeNow(payload):]; len(payload) == 0 {
			return
		}
	case t == wire.TypeAck && v.onAck(payload) == nil:
		return
	}
	o.giveBack(backFrame{true, t, payload})
}

// typeNow types as much of p as the terminal takes without waiting, and returns
// how much.
func (o *owner) typeNow(p []byte) int {
	m, ok := o.term.(*ptyMaster)
	if !ok || !m.mu.TryLock() {
		return 0
	}
	defer m.mu.Unlock()
	pty := o.device()
	n, _ := pty.WriteNow(p) // awaitOutput has called Acquire
	pty.Expect()
	return n
}

// newDevice takes over the descriptor of a terminal. On error it closes it.
func newDevice(fd int) (device, error) { return poll.NewFile(fd, false) }
