package owner

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/poll"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/journal"
)

const (
	// farewellTime is how long a viewer that was sent its last frame may take
	// to close.
	farewellTime = 2 * time.Second
	// partingTime is how long the last frame waits for a viewer that does not
	// read. Such a viewer holds no seat.
	partingTime = 10 * time.Minute
	// maxParting is how many such viewers there may be; one more closes the
	// oldest.
	maxParting = 16
)

// StallTime is how long a viewer may read nothing before it loses its seat. A
// person may have stopped the terminal with ctrl-S. Change it only before Main
// is called.
var StallTime = 5 * time.Minute

// viewer is one authenticated connection.
type viewer struct {
	owner      *owner
	conn       socket
	raw        syscall.RawConn // of conn
	lending    lending
	client     string
	since      time.Time
	typed      atomic.Int64 // when its last input came, in nanoseconds since 1970; 0 before
	mode       wire.Mode
	maxLag     uint64 // 0: no limit but what is kept
	scrollback int
	noOutput   bool
	activity   bool // with noOutput: it is told that there is output
	reader     bool // nobody looks at what it gets

	sendMu sync.Mutex // held to send a frame; guards the next three
	frame  []byte     // reused by sendNow
	unsent []byte     // bytes that a pause, a stall or a full socket kept from being written
	ended  bool       // the last frame was sent, or is in unsent

	r      *wire.Reader // used by receiveLoop
	backMu sync.Mutex   // guards back
	back   []byte       // frames that were not acted on because of a pause

	// Guarded by the owner's mu.
	newOutput sync.Cond // on mu: signalled for changes, and for output to send
	idle      bool      // sendLoop waits for newOutput: everything up to offset was sent
	active    bool      // there is output that it is to be told of
	cut       bool      // sendNow has left the rest of a frame in unsent
	link      link
	seated    bool   // counts as the writer or a watcher
	offset    uint64 // all output below it was sent
	nextEvent uint64
	// firstEvent is the first event after the viewer joined. Of earlier events
	// it gets only sizes: they hold for the old output that it is sent.
	firstEvent uint64
	detached   *wire.Detached // if set, the viewer must leave, for this reason
}

// socket is an open connection.
type socket interface {
	io.ReadWriteCloser
	syscall.Conn
	CloseWrite() error
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// newViewer returns a viewer for conn, whose frames r reads. It takes over
// conn.
func newViewer(o *owner, conn *ipc.Conn, r *wire.Reader, mode wire.Mode) *viewer {
	v := &viewer{owner: o, conn: conn, r: r, mode: mode, newOutput: sync.Cond{L: &o.mu}}
	v.raw, _ = conn.SyscallConn() // fails only for the zero Conn
	if mode == wire.ModeAttach {
		v.makeLendable(conn)
	}
	return v
}

// onLocked applies an event to the connection, and reports whether it changed
// the state. Called with the owner's mu held.
func (v *viewer) onLocked(e linkEvent) bool {
	next, changed := v.link.on(e)
	v.link = next
	if changed {
		v.owner.broadcast()
	}
	return changed
}

func (v *viewer) on(e linkEvent) bool {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	return v.onLocked(e)
}

// converse moves frames both ways until the connection is over or the owner
// pauses. After a pause the viewer stays as it is, for the loops that go on.
func (o *owner) converse(v *viewer) {
	var down sync.WaitGroup
	down.Go(func() {
		v.contained("send", v.sendLoop)
		if !o.paused.Load() {
			v.conn.CloseWrite()
			v.setReadDeadline(time.Now().Add(farewellTime))
		}
	})
	v.contained("receive", v.receiveLoop)
	if !o.paused.Load() {
		v.on(eventLeft)
	}
	down.Wait()
	if o.paused.Load() && v.isOpen() {
		return
	}
	o.leave(v)
	v.conn.Close()
}

// isOpen reports whether the client is still connected.
func (v *viewer) isOpen() bool {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	return v.link == linkJoined || v.link == linkParting
}

// setReadDeadline sets the deadline, but does not undo that of a pause.
func (v *viewer) setReadDeadline(t time.Time) {
	v.conn.SetReadDeadline(t)
	if v.owner.paused.Load() {
		v.conn.SetReadDeadline(longAgo)
	}
}

// longAgo is a deadline that wakes every goroutine that blocks.
var longAgo = time.Unix(1, 0)

// send writes whole frames, one at a time. It blocks while this viewer does not
// read, which stalls no other. If a pause or a stall interrupts it, the rest of
// the frames is in unsent and send returns nil: that rest is written before any
// other frame.
func (v *viewer) send(frames []byte) error {
	v.sendMu.Lock()
	defer v.sendMu.Unlock()
	if v.ended {
		return nil // nothing comes after the last frame
	}
	if len(v.unsent) > 0 {
		frames = append(v.unsent, frames...)
		v.unsent = nil
	}
	return v.write(frames)
}

// sendNow sends p, the output from an offset on, without blocking, if all
// output before it was sent. Otherwise sendLoop must be woken to send it.
// Called with the owner's mu held.
func (v *viewer) sendNow(from uint64, p []byte) {
	o := v.owner
	if !v.idle || v.offset != from || v.nextEvent != o.events.next || v.link != linkJoined ||
		o.phase == phasePaused || !v.sendMu.TryLock() {
		return
	}
	defer v.sendMu.Unlock()
	if v.ended || len(v.unsent) > 0 {
		return
	}
	v.frame = wire.AppendData(v.frame[:0], wire.TypeOutput, from, p)
	n := poll.WriteNow(v.raw, v.frame)
	if n == 0 {
		return
	}
	v.offset += uint64(len(p))
	if n < len(v.frame) {
		v.unsent, v.cut = bytes.Clone(v.frame[n:]), true
		v.newOutput.Signal()
	}
}

// write is send with sendMu held.
func (v *viewer) write(frames []byte) error {
	for {
		n, err := v.writeSome(frames, StallTime)
		switch frames = frames[n:]; {
		case err == nil && len(frames) == 0:
			return nil
		case err == nil || v.isParting():
			v.unsent = append(v.unsent, frames...)
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case n > 0: // the viewer is slow, not stalled
		case v.mode == wire.ModeControl:
			v.conn.Close() // a client that sends requests but does not read the replies
			return err
		default:
			v.unsent = append(v.unsent, frames...)
			v.stalled()
			return nil
		}
	}
}

// writeSome writes for at most d. Without an error it has written all of p, or
// a pause has interrupted it.
func (v *viewer) writeSome(p []byte, d time.Duration) (n int, err error) {
	v.conn.SetWriteDeadline(time.Now().Add(d))
	if v.owner.paused.Load() { // a pause sets paused before its deadline, so this deadline cannot hide it
		return 0, nil
	}
	n, err = v.conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && v.owner.paused.Load() {
		err = nil
	}
	return n, err
}

// stalled unseats a viewer that reads nothing.
func (v *viewer) stalled() {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	v.owner.unseat(v, eventStalled, wire.Detached{
		Reason: string(terminal.DetachPolicy), Text: "nothing was read for " + StallTime.String()})
}

func (v *viewer) isParting() bool {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	return v.link == linkParting
}

// part sends the last frame, after what is unsent. It waits up to partingTime
// for a viewer that does not read; that holds up no other.
func (v *viewer) part(frame []byte) {
	v.sendMu.Lock()
	defer v.sendMu.Unlock()
	v.unsent = append(v.unsent, frame...)
	v.ended = true
	v.flush(partingTime)
}

// flush writes what is unsent, for at most d, and keeps the rest. Called with
// sendMu held.
func (v *viewer) flush(d time.Duration) error {
	n, err := v.writeSome(v.unsent, d)
	v.unsent = bytes.Clone(v.unsent[n:])
	return err
}

// sendSnapshot sends a snapshot in frames that are full except the last.
func (v *viewer) sendSnapshot(snap snapshot) error {
	for data := snap.data; ; {
		part := data[:min(len(data), wire.MaxData)]
		data = data[len(part):]
		if err := v.send(wire.AppendData(nil, wire.TypeSnapshot, snap.offset, part)); err != nil {
			return err
		}
		if len(part) < wire.MaxData {
			return nil
		}
	}
}

// task is the next thing for a viewer's sendLoop to do.
type task int

const (
	taskEnd task = iota
	taskRest
	taskOutput
	taskSnapshot
	taskEvent
	taskDetach
	taskExit
)

// sendLoop sends output, events and one last frame, until the connection ends
// or the owner pauses.
func (v *viewer) sendLoop() {
	if !v.resume() {
		return
	}
	r := journal.Open(v.owner.dir.Journal())
	defer r.Close()
	var buf []byte
	for {
		next, limit, event := v.next()
		var err error
		switch next {
		case taskEnd:
			return
		case taskRest:
			err = v.send(nil)
		case taskOutput:
			buf, err = v.sendOutput(r, buf, limit)
		case taskEvent:
			err = v.send(wire.AppendControl(buf[:0], wire.TypeEvent, wireEvent(event)))
		case taskDetach:
			v.part(wire.AppendControl(nil, wire.TypeDetached, v.detached))
			return
		case taskExit:
			v.part(wire.AppendControl(nil, wire.TypeExit, wireExit(*v.owner.exit)))
			return
		}
		if next == taskSnapshot || isGap(err) {
			err = v.jump(v.owner.screen.snapshot(v.scrollback))
		}
		if err != nil {
			return
		}
	}
}

// isGap reports whether err means that the next output is not kept.
func isGap(err error) bool {
	if err == nil {
		return false // return early: errors.As would allocate for each frame
	}
	var gap *journal.GapError
	return errors.As(err, &gap)
}

// resume writes what a pause kept from being written, and reports whether there
// is more to send.
func (v *viewer) resume() bool {
	v.sendMu.Lock()
	defer v.sendMu.Unlock()
	if len(v.unsent) == 0 {
		return !v.ended
	}
	d := StallTime
	if v.ended {
		d = partingTime
	}
	return v.flush(d) == nil && !v.ended
}

// next waits for something to send. Output is due only up to limit, so that an
// event is sent between the bytes before and after it.
func (v *viewer) next() (next task, limit uint64, event terminal.Event) {
	o := v.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		switch {
		case v.link == linkGone || o.phase == phaseClosing || o.phase == phasePaused:
			return taskEnd, 0, event
		case v.detached != nil:
			return taskDetach, 0, event
		case v.cut:
			v.cut = false
			return taskRest, 0, event
		case v.mode == wire.ModeControl: // gets only replies
			o.changed.Wait()
			continue
		}
		limit := o.recent.head
		if v.noOutput {
			v.offset = limit
		}
		if e, number, ok := v.event(); ok {
			if e.Offset <= v.offset || v.noOutput {
				v.nextEvent = number + 1
				return taskEvent, 0, e
			}
			limit = min(limit, e.Offset)
		}
		switch {
		case v.active:
			v.active = false
			return taskEvent, 0, o.activeEvent()
		case v.maxLag > 0 && o.recent.head-v.offset > v.maxLag, o.events.misses(v.nextEvent):
			return taskSnapshot, 0, event
		case v.offset < limit:
			return taskOutput, limit, event
		case o.exit != nil:
			v.onLocked(eventExitTold)
			return taskExit, 0, event
		}
		v.idle = true
		v.newOutput.Wait()
		v.idle = false
	}
}

// event returns the next event to send, and its number. Called with the owner's
// mu held.
func (v *viewer) event() (e terminal.Event, number uint64, ok bool) {
	for {
		e, number, ok = v.owner.events.from(v.nextEvent)
		if !ok || number >= v.firstEvent || e.Kind == terminal.EventSize {
			return e, number, ok
		}
		v.nextEvent = number + 1
	}
}

// sendOutput sends the next output below limit, in one frame.
func (v *viewer) sendOutput(r *journal.Reader, buf []byte, limit uint64) ([]byte, error) {
	if buf == nil { // allocate late: a control connection gets no output
		buf = make([]byte, 0, wire.HeaderSize+wire.MaxFrame)
	}
	data := buf[wire.HeaderSize+wire.OffsetSize : cap(buf)]
	data = data[:min(uint64(len(data)), limit-v.offset)]
	n, err := v.owner.readOutput(r, data, v.offset)
	if err != nil {
		return buf, err
	}
	buf = wire.AppendData(buf[:0], wire.TypeOutput, v.offset, data[:n])
	if err := v.send(buf); err != nil {
		return buf, err
	}
	v.advance(v.offset + uint64(n))
	return buf, nil
}

// jump goes on from a snapshot. It first sends the events before the snapshot,
// one of which may be the snapshot's size.
func (v *viewer) jump(snap snapshot) error {
	for {
		v.owner.mu.Lock()
		event, number, ok := v.event()
		ok = ok && number < snap.nextEvent
		if ok {
			v.nextEvent = number + 1
		} else {
			v.nextEvent = max(v.nextEvent, snap.nextEvent)
			v.offset = snap.offset
		}
		v.owner.mu.Unlock()
		if !ok {
			return v.sendSnapshot(snap)
		}
		if err := v.send(wire.AppendControl(nil, wire.TypeEvent, wireEvent(event))); err != nil {
			return err
		}
	}
}

func (v *viewer) advance(offset uint64) {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	v.offset = offset
}
