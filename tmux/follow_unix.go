//go:build unix

package tmux

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

const (
	// rejoinTimeout is how long a follower waits for another journal helper;
	// it is longer than the launcher takes to give up.
	rejoinTimeout  = keeperAttempts * (keeperPause + helperTimeout)
	rejoinInterval = 20 * time.Millisecond
)

// attachEnded shows what an ended session left: its last screen and its exit.
func (s *session) attachEnded(rec record, exit terminal.Exit, o terminal.AttachOptions) (terminal.Attachment, error) {
	oldest, head, err := s.bounds()
	if err != nil {
		return nil, err
	}
	last, err := s.lastMessages(exit, head, o.Scrollback)
	if err != nil {
		return nil, err
	}
	return &follower{
		s: s, rec: rec, mode: o.Mode, at: head, last: last, ended: true, quit: make(chan struct{}),
		hello: terminal.Hello{Offset: head, Head: head, Oldest: oldest, Size: exit.Size, Title: exit.Title, Clipboard: rec.Clipboard},
	}, nil
}

// follow replays the journal from an offset and goes on with what comes.
func (s *session) follow(ctx context.Context, rec record, from uint64) (terminal.Attachment, error) {
	f := &follower{
		s: s, rec: rec, mode: terminal.ModeWatch, at: from, buf: make([]byte, readSize), quit: make(chan struct{}),
	}
	// Connected first, so that nothing is missed between a look and a wait.
	conn, err := rec.dial(ctx)
	if err == nil {
		f.conn, f.told = conn, bufio.NewReader(conn)
	}
	st, statusErr := s.Status(ctx)
	if statusErr != nil {
		return nil, errors.Join(statusErr, f.Close())
	}
	if err != nil && !st.State.Ended() {
		return nil, fmt.Errorf("follow session %s: %w: %w", s.id, terminal.ErrUnreachable, err)
	}
	if from > st.Head {
		return nil, errors.Join(fmt.Errorf("follow session %s from %d: %w", s.id, from, terminal.ErrRange), f.Close())
	}
	f.hello = terminal.Hello{
		Offset: from, Head: st.Head, Oldest: st.Oldest, Size: st.Size, Title: st.Title,
		PID: st.PID, Writer: st.Writer, Clipboard: rec.Clipboard,
	}
	f.reader, f.size = s.dir.journal(), st.Size
	f.screen = vt.New(vt.Options{
		Cols: int(st.Size.Cols), Rows: int(st.Size.Rows), ScrollbackBytes: -1, Event: f.heard,
	})
	return f, nil
}

// eventKinds are the events of a screen that are told.
var eventKinds = map[vt.EventKind]terminal.EventKind{
	vt.EventTitle:        terminal.EventTitle,
	vt.EventBell:         terminal.EventBell,
	vt.EventNotification: terminal.EventNotification,
	vt.EventDirectory:    terminal.EventDirectory,
}

// maxEvents is how many events of one read are told; of more the first ones
// are dropped.
const maxEvents = 32

// heard keeps an event to be told behind its output. One of a replay was told
// when it happened.
func (f *follower) heard(e vt.Event) {
	kind, ok := eventKinds[e.Kind]
	if !ok || f.at <= f.hello.Head {
		return
	}
	if len(f.events) == maxEvents {
		f.events = f.events[1:]
	}
	f.events = append(f.events, terminal.Event{Kind: kind, Offset: f.at, Text: e.Text})
}

// follower is a viewer that reads the journal. It is no client of tmux.
type follower struct {
	s      *session
	rec    record
	mode   terminal.Mode
	hello  terminal.Hello
	conn   net.Conn // the journal helper's; nil where it is gone
	reader *journal.Reader

	// What follows belongs to the receiving goroutine.
	buf    []byte
	at     uint64
	told   *bufio.Reader      // of conn
	size   terminal.Size      // that the viewer knows of
	events []terminal.Event   // of the output up to at, to be told
	screen *vt.Terminal       // hears them
	ended  bool               // nothing comes any more but last
	last   []terminal.Message // what is told at the end

	quit chan struct{} // closed by Close

	mu     sync.Mutex // guards closed, and conn where it is set
	closed bool
}

// Hello implements terminal.Attachment.
func (f *follower) Hello() terminal.Hello { return f.hello }

// Receive implements terminal.Attachment.
func (f *follower) Receive() (terminal.Message, error) {
	for {
		if f.isClosed() {
			return terminal.Message{}, os.ErrClosed
		}
		if f.reader == nil {
			return f.receiveLast()
		}
		if len(f.events) > 0 {
			m := terminal.Message{Kind: terminal.MessageEvent, Event: f.events[0]}
			f.events = f.events[1:]
			return m, nil
		}
		room := f.buf
		if f.at < f.hello.Head { // not beyond the replay, see heard
			room = room[:min(uint64(len(room)), f.hello.Head-f.at)]
		}
		n, err := f.reader.ReadAt(room, f.at)
		if n > 0 {
			m := terminal.Message{Kind: terminal.MessageOutput, Offset: f.at, Data: f.buf[:n]}
			f.at += uint64(n)
			f.screen.Write(m.Data)
			return m, nil
		}
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			return f.skip()
		case !errors.Is(err, io.EOF):
			return terminal.Message{}, fmt.Errorf("follow session %s: %w", f.s.id, err)
		case f.ended:
			return f.receiveLast()
		}
		if err := f.wait(); err != nil {
			return terminal.Message{}, err
		}
	}
}

func (f *follower) receiveLast() (terminal.Message, error) {
	if len(f.last) == 0 {
		return terminal.Message{}, io.EOF
	}
	m := f.last[0]
	f.last = f.last[1:]
	return m, nil
}

// wait blocks until the journal has grown, or has its last byte.
func (f *follower) wait() error {
	if f.told != nil {
		if err := f.hearHelper(); err == nil {
			return nil
		}
		if f.isClosed() {
			return os.ErrClosed
		}
	}
	return f.rejoin()
}

// hearHelper reads what the journal helper tells, at least one thing.
func (f *follower) hearHelper() error {
	for {
		what, err := f.told.ReadByte()
		if what == toldWriter {
			f.otherWriter()
		}
		if err == nil && what == toldSized {
			var size [4]byte
			if _, err = io.ReadFull(f.told, size[:]); err == nil {
				f.sized(terminal.Size{Cols: binary.BigEndian.Uint16(size[:]), Rows: binary.BigEndian.Uint16(size[2:])})
			}
		}
		if err != nil || f.told.Buffered() == 0 {
			return err
		}
	}
}

// otherWriter tells the viewer who types now.
func (f *follower) otherWriter() {
	p, err := f.s.pane(context.Background(), f.rec.server())
	if err != nil {
		return // it is told with the next change, or the end
	}
	w, _ := p.viewers()
	f.events = append(f.events, terminal.Event{Kind: terminal.EventWriter, Offset: f.at, Writer: w})
}

// sized tells the viewer of a size that is new to it. tmux does not say at
// which byte it changed: it holds from where the viewer is.
func (f *follower) sized(size terminal.Size) {
	if size.Cols == f.size.Cols && size.Rows == f.size.Rows {
		return
	}
	f.size = size
	f.screen.Resize(int(size.Cols), int(size.Rows))
	f.events = append(f.events, terminal.Event{Kind: terminal.EventSize, Offset: f.at, Size: &size})
}

// rejoin is called when the journal helper is gone: it has recorded the exit,
// or never will, or another takes over.
func (f *follower) rejoin() error {
	limit := time.NewTimer(rejoinTimeout)
	defer limit.Stop()
	tick := time.NewTicker(rejoinInterval)
	defer tick.Stop()
	for {
		_, state, exit, err := f.s.present()
		switch {
		case err != nil:
			return err
		case exit != nil:
			f.ended = true
			f.last = []terminal.Message{{Kind: terminal.MessageExit, Offset: exit.Offset, Exit: *exit}}
			return nil
		case state.Ended():
			return fmt.Errorf("session %s is %s: %w", f.s.id, state, terminal.ErrGone)
		}
		if conn, err := f.rec.dial(context.Background()); err == nil {
			return f.setConn(conn)
		}
		select {
		case <-f.quit:
			return os.ErrClosed
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("follow session %s: its journal helper ended: %w", f.s.id, terminal.ErrUnreachable)
		}
	}
}

// setConn follows another journal helper.
func (f *follower) setConn(conn net.Conn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.Join(os.ErrClosed, conn.Close())
	}
	if f.conn != nil {
		f.conn.Close() // its other end is gone
	}
	f.conn, f.told = conn, bufio.NewReader(conn)
	if p, err := f.s.pane(context.Background(), f.rec.server()); err == nil {
		f.sized(p.size) // what was told meanwhile
	}
	return nil
}

// skip goes on behind bytes that are no longer kept: with the screen as what
// is kept draws it.
func (f *follower) skip() (terminal.Message, error) {
	oldest, head, err := f.reader.Bounds()
	if err != nil {
		return terminal.Message{}, fmt.Errorf("follow session %s: %w", f.s.id, err)
	}
	t := vt.New(vt.Options{Cols: int(f.size.Cols), Rows: int(f.size.Rows)})
	for at := oldest; at < head; {
		n, err := f.reader.ReadAt(f.buf[:min(uint64(len(f.buf)), head-at)], at)
		var gap *journal.GapError
		switch {
		case n > 0:
			t.Write(f.buf[:n])
			at += uint64(n)
		case errors.As(err, &gap):
			at = gap.Next
		default:
			return terminal.Message{}, fmt.Errorf("follow session %s: %w", f.s.id, err)
		}
	}
	f.at = head
	return terminal.Message{Kind: terminal.MessageSnapshot, Offset: head, Data: snapshot(t, 0)}, nil
}

// Input implements terminal.Attachment.
func (f *follower) Input([]byte) error { return f.refuse() }

// Resize implements terminal.Attachment.
func (f *follower) Resize(terminal.Size) error { return f.refuse() }

func (f *follower) refuse() error {
	if f.mode == terminal.ModeAttach {
		return fmt.Errorf("session %s: %w", f.s.id, terminal.ErrEnded)
	}
	return terminal.ErrNotWriter
}

// Ack implements terminal.Attachment. The journal is the queue: a follower
// holds nothing back for a viewer that is slow.
func (f *follower) Ack(uint64) error { return nil }

// Close wakes Receive.
func (f *follower) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	close(f.quit)
	var err error
	if f.conn != nil {
		err = f.conn.Close()
	}
	if f.reader != nil {
		err = errors.Join(err, f.reader.Close())
	}
	return err
}

func (f *follower) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}
