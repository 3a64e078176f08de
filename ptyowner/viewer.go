//go:build unix

package ptyowner

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/journal"
)

const (
	maxPending   = 16 // connections that have not said Hello
	maxWatchers  = 32
	helloTime    = 2 * time.Second
	farewellTime = 2 * time.Second // for the client to take its last frame
	// leaveTime is how long a second writer waits for the first to leave: one
	// that has closed its connection a moment ago may not be seen to have.
	leaveTime = 250 * time.Millisecond
)

// viewer is one authenticated connection.
type viewer struct {
	owner  *owner
	conn   *net.UnixConn
	client string
	since  time.Time
	mode   wire.Mode

	sendMu sync.Mutex // one frame at a time

	// Guarded by the owner's mu.
	offset    uint64 // everything below was sent
	maxLag    uint64
	nextEvent uint64
	detached  *wire.Detached // why it has to go
	gone      bool           // the connection is closed
}

// serve accepts connections until the listener is closed. Those that have not
// proved themselves are few and short-lived: the oldest makes room.
func (o *owner) serve() {
	var pendingMu sync.Mutex
	var pending []*net.UnixConn
	for {
		conn, err := o.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			logf("accept: %v", err) // out of descriptors, say
			time.Sleep(10 * time.Millisecond)
			continue
		}
		pendingMu.Lock()
		if len(pending) == maxPending {
			pending[0].Close()
			pending = pending[1:]
		}
		pending = append(pending, conn)
		pendingMu.Unlock()
		o.conns.Go(func() {
			defer conn.Close()
			hello, r, err := o.readHello(conn)
			pendingMu.Lock()
			if i := slices.Index(pending, conn); i >= 0 {
				pending = slices.Delete(pending, i, i+1)
			}
			pendingMu.Unlock()
			if err == nil {
				o.serveConn(conn, r, hello)
			}
		})
	}
}

// readHello reads the first frame and checks who sent it. A peer that is not
// ours, or has no token, gets no answer.
func (o *owner) readHello(conn *net.UnixConn) (hello wire.Hello, r *wire.Reader, err error) {
	if uid, err := peerUID(conn); err != nil || uid != os.Geteuid() {
		return hello, nil, fmt.Errorf("peer has uid %d: %w", uid, err)
	}
	conn.SetReadDeadline(time.Now().Add(helloTime))
	r = wire.NewReader(conn)
	t, payload, err := r.Read(wire.MaxHello)
	if err != nil {
		return hello, nil, err
	}
	if t != wire.TypeHello {
		return hello, nil, fmt.Errorf("first frame has type %d", t)
	}
	if err := wire.ParseControl(t, payload, &hello); err != nil {
		return hello, nil, err
	}
	if subtle.ConstantTimeCompare([]byte(hello.Token), o.token) != 1 {
		return hello, nil, errors.New("wrong token")
	}
	return hello, r, conn.SetReadDeadline(time.Time{})
}

// serveConn serves an authenticated connection to its end.
func (o *owner) serveConn(conn *net.UnixConn, r *wire.Reader, hello wire.Hello) {
	v := &viewer{owner: o, conn: conn, client: hello.Client, since: time.Now(), mode: hello.Mode, maxLag: hello.MaxLag}
	welcome, snap, refusal := o.join(v, hello)
	if refusal == errClosing {
		return
	}
	if refusal != nil {
		v.send(wire.AppendControl(nil, wire.TypeError, refusal))
		return
	}
	defer o.leave(v)
	if v.send(wire.AppendControl(nil, wire.TypeWelcome, welcome)) != nil {
		return
	}
	if welcome.Snapshot && v.sendSnapshot(snap) != nil {
		return
	}
	var down sync.WaitGroup
	down.Go(func() {
		v.sendLoop(hello.Scrollback)
		conn.CloseWrite()
		conn.SetReadDeadline(time.Now().Add(farewellTime))
	})
	v.receiveLoop(r)
	v.end()
	down.Wait()
}

// join admits a viewer and says what follows the Welcome, or refuses it.
func (o *owner) join(v *viewer, hello wire.Hello) (w wire.Welcome, snap snapshot, refusal *wire.Error) {
	version := min(hello.MaxVersion, wire.MaxVersion)
	if version < max(hello.MinVersion, wire.MinVersion) {
		return w, snap, &wire.Error{Code: wire.CodeVersion, Text: fmt.Sprintf(
			"owner of session %s speaks protocol %d to %d, asked for %d to %d",
			o.spec.ID, wire.MinVersion, wire.MaxVersion, hello.MinVersion, hello.MaxVersion)}
	}
	if refusal := o.admit(v, hello); refusal != nil {
		return w, snap, refusal
	}
	if v.mode == wire.ModeAttach && hello.Size != nil && hello.Size.Cols > 0 && hello.Size.Rows > 0 {
		if err := o.resize(terminalSize(*hello.Size)); err != nil {
			logf("%v", err)
		}
	}
	offset, resumes := o.resumeFrom(hello.From)
	draws := !resumes && v.mode != wire.ModeControl
	if draws {
		snap = o.screen.snapshot(hello.Scrollback)
		offset = snap.offset
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	v.offset = offset
	v.nextEvent = o.events.next
	if draws {
		v.nextEvent = snap.nextEvent
	}
	s := o.status()
	return wire.Welcome{
		Version: version, Features: features, Session: o.spec.ID,
		PID: s.PID, Size: s.Size, Title: s.Title, Head: s.Head, Oldest: s.Oldest,
		Offset: offset, Snapshot: draws, Writer: s.Writer,
	}, snap, nil
}

// resumeFrom reports whether a viewer that has everything below from can go
// on with bytes: they are all kept.
func (o *owner) resumeFrom(from *uint64) (offset uint64, ok bool) {
	if from == nil {
		return 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if *from >= o.recent.oldest() {
		return *from, *from <= o.recent.head
	}
	return *from, *from >= o.journal.Oldest()
}

// admit makes v the writer or a watcher, or refuses it.
func (o *owner) admit(v *viewer, hello wire.Hello) *wire.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.mode == wire.ModeAttach && !hello.Takeover {
		o.awaitNoWriter(leaveTime)
	}
	if o.closing {
		return errClosing
	}
	if hello.From != nil && *hello.From > o.recent.head {
		return &wire.Error{Code: wire.CodeRange, Text: fmt.Sprintf(
			"session %s has %d bytes of output, asked for those from %d", o.spec.ID, o.recent.head, *hello.From)}
	}
	switch v.mode {
	case wire.ModeControl:
	case wire.ModeWatch:
		if o.watchers == maxWatchers {
			return &wire.Error{Code: wire.CodeViewers, Text: fmt.Sprintf("session %s has %d watchers already", o.spec.ID, maxWatchers)}
		}
		o.watchers++
	case wire.ModeAttach:
		if old := o.writer; old != nil {
			if !hello.Takeover {
				return &wire.Error{Code: wire.CodeBusy, Writer: o.writerInfo(),
					Text: fmt.Sprintf("session %s is attached by %q", o.spec.ID, old.client)}
			}
			old.conn.SetWriteDeadline(time.Now().Add(farewellTime)) // it may be stalled
			old.detached = &wire.Detached{Reason: string(terminal.DetachTakeover), Writer: &wire.Writer{Client: v.client, Since: v.since}}
		}
		o.writer = v
		o.addEvent(terminal.Event{Kind: terminal.EventWriter, Writer: terminalWriter(o.writerInfo())})
	default:
		return &wire.Error{Code: wire.CodeBadRequest, Text: fmt.Sprintf("mode %q is not attach, watch or control", v.mode)}
	}
	o.viewers[v] = true
	return nil
}

// errClosing refuses without a word: the owner is about to end, and who looks
// again finds its state on disk.
var errClosing = new(wire.Error)

// awaitNoWriter waits until nobody is attached, but no longer than d. Called
// with mu held.
func (o *owner) awaitNoWriter(d time.Duration) {
	expired := false
	timer := time.AfterFunc(d, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		expired = true
		o.changed.Broadcast()
	})
	defer timer.Stop()
	for o.writer != nil && !expired && !o.closing {
		o.changed.Wait()
	}
}

// leave undoes admit.
func (o *owner) leave(v *viewer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.viewers, v)
	if v.mode == wire.ModeWatch {
		o.watchers--
	}
	o.changed.Broadcast()
	if o.writer == v {
		o.writer = nil
		o.addEvent(terminal.Event{Kind: terminal.EventWriter})
	}
}

// end tells the viewer's other loop that the connection is over.
func (v *viewer) end() {
	v.owner.mu.Lock()
	defer v.owner.mu.Unlock()
	v.gone = true
	v.owner.changed.Broadcast()
}

// send writes whole frames, one at a time. It blocks while the viewer does
// not read, which stalls nobody else.
func (v *viewer) send(frames []byte) error {
	v.sendMu.Lock()
	defer v.sendMu.Unlock()
	_, err := v.conn.Write(frames)
	return err
}

// sendSnapshot sends a snapshot in frames that are full but for the last.
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

// task is what a viewer's sendLoop does next.
type task int

const (
	taskEnd task = iota
	taskOutput
	taskSnapshot
	taskEvent
	taskDetach
	taskExit
)

// sendLoop sends output, events and one last frame, until the viewer is gone.
func (v *viewer) sendLoop(scrollback int) {
	r := journal.Open(v.owner.dir.journal())
	defer r.Close()
	buf := make([]byte, 0, wire.HeaderSize+wire.MaxFrame)
	for {
		next, limit, event := v.next()
		var err error
		switch next {
		case taskEnd:
			return
		case taskOutput:
			buf, err = v.sendOutput(r, buf, limit)
		case taskEvent:
			err = v.send(wire.AppendControl(buf[:0], wire.TypeEvent, wireEvent(event)))
		case taskDetach:
			v.send(wire.AppendControl(buf[:0], wire.TypeDetached, v.detached))
			return
		case taskExit:
			v.send(wire.AppendControl(buf[:0], wire.TypeExit, wireExit(*v.owner.exit)))
			return
		}
		var gap *journal.GapError
		if next == taskSnapshot || errors.As(err, &gap) {
			err = v.jump(v.owner.screen.snapshot(scrollback))
		}
		if err != nil {
			return
		}
	}
}

// next waits for something to send. Output comes up to limit, so that an
// event is sent between the bytes that it stands between.
func (v *viewer) next() (next task, limit uint64, event terminal.Event) {
	o := v.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		switch {
		case v.gone || o.closing:
			return taskEnd, 0, event
		case v.detached != nil:
			return taskDetach, 0, event
		case v.mode == wire.ModeControl: // gets replies alone
			o.changed.Wait()
			continue
		}
		limit := o.recent.head
		if e, number, ok := o.events.from(v.nextEvent); ok {
			if e.Offset <= v.offset {
				v.nextEvent = number + 1
				return taskEvent, 0, e
			}
			limit = min(limit, e.Offset)
		}
		switch {
		case v.maxLag > 0 && o.recent.head-v.offset > v.maxLag:
			return taskSnapshot, 0, event
		case v.offset < limit:
			return taskOutput, limit, event
		}
		if o.exit != nil {
			return taskExit, 0, event
		}
		o.changed.Wait()
	}
}

// sendOutput sends the next output below limit, one frame of it.
func (v *viewer) sendOutput(r *journal.Reader, buf []byte, limit uint64) ([]byte, error) {
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

// jump goes on from a snapshot. The events before it, of which its size may be
// one, are told first.
func (v *viewer) jump(snap snapshot) error {
	for {
		v.owner.mu.Lock()
		event, number, ok := v.owner.events.from(v.nextEvent)
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
