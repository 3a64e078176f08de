package owner

import (
	"errors"
	"net"
	"os"

	"middleman/internal/poll"
	"middleman/ptyowner/wire"
)

// A key's way through the owner, while a writer is attached:
//
//  1. readTerminal waits for the PTY and the writer's connection at once, in
//     one system call of one thread.
//  2. A key comes: takeFrame reads it and types it.
//  3. The echo comes: readPTY journals it, sends it and draws it.
//
// What would have to wait, and all frames but input and acknowledgements, go
// back to the writer's receiveLoop. It lends its connection again once it has
// acted on them.

// lending is a viewer's side of it. The zero value never lends.
type lending struct {
	file  *poll.File     // the viewer's conn, where it can be lent
	frame chan backFrame // the connection is back; room for one
}

// backFrame is a frame that comes back with a connection, where has is set. Its
// payload is valid until the next is read.
type backFrame struct {
	has     bool
	t       wire.Type
	payload []byte
}

// makeLendable takes conn, a writer's, from the runtime's poller. Where it
// cannot be, all works as it is.
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

// nextFrame is the next frame that receiveLoop has to act on.
func (v *viewer) nextFrame() (wire.Type, []byte, error) {
	if v.lend() {
		if back := <-v.lending.frame; back.has {
			return back.t, back.payload, nil
		}
	}
	return v.r.Read(wire.MaxFrame)
}

// lend gives v's connection to readPTY, and reports whether it will come back.
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

// giveBack ends what lend began. Called by readPTY alone.
func (o *owner) giveBack(back backFrame) {
	if v := o.lent.Swap(nil); v != nil {
		v.lending.frame <- back
	}
}

// device is the terminal's descriptor, nil where the host has none to wait for.
func (o *owner) device() *poll.File {
	if m, ok := o.term.(*ptyMaster); ok {
		f, _ := m.file.(*poll.File)
		return f
	}
	return nil
}

// readTerminal is o.term.Read, which acts on the frames of the connection that
// is lent meanwhile.
func (o *owner) readTerminal(p []byte) (n int, err error) {
	pty := o.device()
	if pty == nil {
		return o.term.Read(p)
	}
	if !pty.Acquire() {
		return 0, os.ErrClosed
	}
	defer pty.Release()
	for n == 0 && err == nil {
		var output bool
		if output, err = o.await(pty); output {
			n, err = readDevice(pty.Descriptor(), p)
		}
	}
	return n, err
}

// await waits until there is output to read, acts on a frame where one comes
// first, and returns as well when there is another connection to wait for.
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
		o.giveBack(backFrame{}) // who reads it is told why
	default:
		return output, err
	}
	return output, nil
}

// takeFrame acts on the next frame of the connection that v lends, if all of it
// is there and it need not wait.
func (o *owner) takeFrame(v *viewer) {
	v.lending.file.NoWait = true
	t, payload, err := v.r.Read(wire.MaxFrame)
	v.lending.file.NoWait = false
	switch {
	case errors.Is(err, poll.ErrWait):
		return
	case err != nil:
		o.giveBack(backFrame{}) // the next Read says the same
		return
	case t == wire.TypeInput:
		if !v.isWriter() {
			return
		}
		if payload = payload[o.typeNow(payload):]; len(payload) == 0 {
			return
		}
	case t == wire.TypeAck && v.onAck(payload) == nil:
		return
	}
	o.giveBack(backFrame{true, t, payload})
}

// typeNow types what the program's terminal takes without waiting, and returns
// how much that is.
func (o *owner) typeNow(p []byte) int {
	m, ok := o.term.(*ptyMaster)
	if !ok || !m.mu.TryLock() {
		return 0
	}
	defer m.mu.Unlock()
	pty := o.device()
	n, _ := pty.WriteNow(p) // readTerminal uses it
	pty.Expect()
	return n
}

// newDevice takes over the descriptor of a terminal. On error it is closed.
func newDevice(fd int) (device, error) { return poll.NewFile(fd, false) }
