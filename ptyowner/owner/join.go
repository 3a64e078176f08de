package owner

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"middleman/internal/ipc"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	maxPending  = 16 // connections that have not sent Hello
	maxWatchers = 32
	helloTime   = 2 * time.Second
	// leaveTime is how long a second writer waits for the first to leave. The
	// owner may not have noticed yet that the first has closed its connection.
	leaveTime = 250 * time.Millisecond
)

// pending holds the connections that are not authenticated yet.
type pending struct {
	mu    sync.Mutex // guards conns
	conns []*ipc.Conn
}

// add adds a connection. If there are too many it closes the oldest.
func (p *pending) add(conn *ipc.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == maxPending {
		p.conns[0].Close()
		p.conns = p.conns[1:]
	}
	p.conns = append(p.conns, conn)
}

func (p *pending) remove(conn *ipc.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.conns, conn); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	}
}

func (p *pending) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// serve accepts connections until the listener is closed for good or the owner pauses.
// Connections that are not authenticated are limited in number and time. A
// pause closes them; their clients connect again.
func (o *owner) serve() {
	var greeting pending
	defer greeting.closeAll()
	for {
		l := o.listening()
		conn, err := ipc.Accept(l)
		switch {
		case errors.Is(err, net.ErrClosed) && o.listening() != l:
			continue
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		}
		if err != nil {
			logf("accept: %v", err) // for example, no descriptor is free
			time.Sleep(10 * time.Millisecond)
			continue
		}
		greeting.add(conn)
		o.conns.Go(func() {
			hello, r, err := o.readHello(conn)
			greeting.remove(conn)
			if err != nil {
				conn.Close()
				return
			}
			o.welcome(conn, r, hello)
		})
	}
}

// listening returns the listener of now.
func (o *owner) listening() *ipc.Listener {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.listener
}

// readHello reads the first frame and authenticates its sender. A peer of
// another user, or without the token, gets no answer.
func (o *owner) readHello(conn *ipc.Conn) (hello wire.Hello, r *wire.Reader, err error) {
	if err := ipc.CheckPeer(conn); err != nil {
		return hello, nil, err
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

// welcome admits an authenticated connection and serves it until it ends, or
// refuses it.
func (o *owner) welcome(conn *ipc.Conn, r *wire.Reader, hello wire.Hello) {
	v := newViewer(o, conn, r, hello.Mode)
	v.client, v.since = hello.Client, time.Now()
	v.maxLag, v.scrollback = hello.MaxLag, hello.Scrollback
	v.noOutput = hello.NoOutput && v.mode == wire.ModeWatch
	v.activity, v.reader = hello.Activity, hello.Reader
	welcome, snap, refusal := o.join(v, hello)
	if refusal != nil {
		o.leave(v)
		if refusal != errClosing {
			v.conn.SetWriteDeadline(time.Now().Add(farewellTime))
			v.conn.Write(wire.AppendControl(nil, wire.TypeError, refusal))
		}
		v.conn.Close()
		return
	}
	err := v.send(wire.AppendControl(nil, wire.TypeWelcome, welcome))
	if err == nil && welcome.Snapshot {
		err = v.sendSnapshot(snap)
	}
	if err != nil {
		o.leave(v)
		v.conn.Close()
		return
	}
	o.converse(v)
}

// join admits a viewer and returns its Welcome and, if that announces one, the
// snapshot; or it returns a refusal.
func (o *owner) join(v *viewer, hello wire.Hello) (w wire.Welcome, snap snapshot, refusal *wire.Error) {
	version := min(hello.MaxVersion, wire.MaxVersion)
	if version < max(hello.MinVersion, wire.MinVersion) {
		return w, snap, &wire.Error{Code: wire.CodeVersion, Text: fmt.Sprintf(
			"owner of session %s speaks protocol %d to %d, but %d to %d was asked for",
			o.spec.ID, wire.MinVersion, wire.MaxVersion, hello.MinVersion, hello.MaxVersion)}
	}
	_, _ = o.fillJournal() // the client may read the journal up to the head that it is told
	if refusal := o.admit(v, hello); refusal != nil {
		return w, snap, refusal
	}
	if v.mode == wire.ModeAttach && hello.Size != nil && hello.Size.Cols > 0 && hello.Size.Rows > 0 {
		if err := o.resize(terminal.Size(*hello.Size)); errors.Is(err, errPaused) {
			return w, snap, errClosing
		} else if err != nil {
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
	if o.phase == phasePaused || !v.onLocked(eventWelcomed) {
		return w, snap, errClosing
	}
	v.offset = offset
	v.nextEvent = o.events.next
	s := o.status()
	if draws { // sizes after the snapshot follow as events
		v.nextEvent, s.Size = snap.nextEvent, wire.Size(snap.size)
	} else if size, later, ok := o.events.sizeAt(offset, o.spec.Size); ok { // the size at the first byte
		v.nextEvent, v.firstEvent, s.Size = later, o.events.next, wire.Size(size)
	}
	return wire.Welcome{
		Version: version, Features: features, Session: o.spec.ID,
		PID: s.PID, Size: s.Size, Title: s.Title, Head: s.Head, Oldest: s.Oldest,
		Offset: offset, Snapshot: draws, Writer: s.Writer, HostAnswers: o.term.Answers(),
	}, snap, nil
}

// resumeFrom reports whether a viewer that has all output below from can go on
// with bytes, because all bytes from there are kept.
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

// admit makes v the writer, a watcher or a control connection, or refuses it.
func (o *owner) admit(v *viewer, hello wire.Hello) *wire.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.mode == wire.ModeAttach && !hello.Takeover {
		o.awaitNoWriter(leaveTime)
		o.dropHungUp()
	}
	for hello.From != nil && *hello.From > o.recent.head && *hello.From <= o.coming.Load() {
		o.early++
		o.newOutput.Wait() // the viewer has read output from the journal that publish has not added to recent yet
		o.early--
	}
	if o.phase == phaseClosing || o.phase == phasePaused {
		return errClosing
	}
	if hello.From != nil && *hello.From > o.recent.head {
		return &wire.Error{Code: wire.CodeRange, Text: fmt.Sprintf(
			"session %s has %d bytes of output, but output from offset %d was asked for", o.spec.ID, o.recent.head, *hello.From)}
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
			o.unseat(old, eventDisplaced, wire.Detached{
				Reason: string(terminal.DetachTakeover), Writer: &wire.Writer{Client: v.client, Since: v.since}})
		}
		o.writer = v
		o.addEvent(terminal.Event{Kind: terminal.EventWriter, Writer: (*terminal.Writer)(o.writerInfo())})
	default:
		return &wire.Error{Code: wire.CodeBadRequest, Text: fmt.Sprintf("mode %q is not attach, watch or control", v.mode)}
	}
	v.seated = true
	o.look(v)
	if v.tells() {
		o.activity.viewers++
	}
	o.viewers[v] = true
	return nil
}

// errClosing makes welcome close the connection without a frame: the owner is
// about to end, or another image is about to take over. A client that looks
// again finds the new image, or the state on disk.
var errClosing = new(wire.Error)

// awaitNoWriter waits until no writer is attached, but no longer than d. Called
// with mu held.
func (o *owner) awaitNoWriter(d time.Duration) {
	expired := false
	timer := time.AfterFunc(d, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		expired = true
		o.broadcast()
	})
	defer timer.Stop()
	for o.writer != nil && !expired && o.phase != phaseClosing && o.phase != phasePaused {
		o.changed.Wait()
	}
}

// dropHungUp unseats a writer that has closed its connection. It is needed if
// receiveLoop cannot notice that, because the writer's last input waits for a
// program that does not read. Called with mu held.
func (o *owner) dropHungUp() {
	if o.writer == nil || !hungUp(o.writer.conn) {
		return
	}
	o.unseat(o.writer, eventDisplaced, wire.Detached{Reason: string(terminal.DetachPolicy), Text: "the connection was closed"})
}

// leave removes a viewer from the session.
func (o *owner) leave(v *viewer) {
	o.rest.active()
	o.mu.Lock()
	defer o.mu.Unlock()
	v.onLocked(eventLeft)
	o.vacate(v)
	delete(o.viewers, v)
	if i := slices.Index(o.parting, v); i >= 0 {
		o.parting = slices.Delete(o.parting, i, i+1)
	}
	o.broadcast()
}

// vacate undoes admit. Called with mu held.
func (o *owner) vacate(v *viewer) {
	if !v.seated {
		return
	}
	v.seated = false
	o.lookAway(v)
	if v.tells() {
		o.activity.viewers--
	}
	if v.mode == wire.ModeWatch {
		o.watchers--
	}
	if o.writer == v {
		o.writer = nil
		o.addEvent(terminal.Event{Kind: terminal.EventWriter})
	}
}

// unseat tells a viewer to leave. Its seat is free at once, even if the viewer
// does not read the message for long. Called with mu held.
func (o *owner) unseat(v *viewer, e linkEvent, reason wire.Detached) {
	if !v.onLocked(e) {
		return
	}
	o.vacate(v)
	v.detached = &reason
	v.conn.SetWriteDeadline(time.Now().Add(farewellTime)) // it may be blocked in a write
	if len(o.parting) == maxParting {
		o.parting[0].conn.Close()
		o.parting = o.parting[1:]
	}
	o.parting = append(o.parting, v)
	o.broadcast()
}
