//go:build unix

package backendtest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// viewer drives an attachment as a person's terminal would: it draws what it
// receives on a screen.
type viewer struct {
	f *fixture
	a terminal.Attachment

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	screen  *vt.Terminal
	bytes   []byte // output alone, without snapshots
	next    uint64 // offset that must come next
	sizes   []terminal.Event
	output  []uint64 // the offsets of events that tell of output
	last    *terminal.Message
	err     error
	done    chan struct{}
}

// attach joins and draws from then on; it is closed when the test ends.
func (f *fixture) attach(s terminal.Session, o terminal.AttachOptions) *viewer {
	f.Helper()
	v, err := f.tryAttach(s, o)
	f.ok(err)
	return v
}

func (f *fixture) tryAttach(s terminal.Session, o terminal.AttachOptions) (*viewer, error) {
	f.Helper()
	a, err := s.Attach(f.ctx, o)
	if err != nil {
		return nil, err
	}
	h := a.Hello()
	v := &viewer{f: f, a: a, next: h.Offset, changed: make(chan struct{}), done: make(chan struct{})}
	v.screen = vt.New(vt.Options{Cols: int(h.Size.Cols), Rows: int(h.Size.Rows)})
	go v.receive() // joined by close
	f.Cleanup(v.close)
	return v, nil
}

func (v *viewer) close() {
	if err := v.a.Close(); err != nil {
		v.f.Errorf("close attachment: %v", err)
	}
	<-v.done
}

func (v *viewer) receive() {
	defer close(v.done)
	for {
		m, err := v.a.Receive()
		if !v.take(m, err) {
			return
		}
	}
}

// take draws one message and wakes whoever waits.
func (v *viewer) take(m terminal.Message, err error) (more bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer func() {
		close(v.changed)
		v.changed = make(chan struct{})
	}()
	if err != nil {
		v.err = err
		return false
	}
	if v.last != nil {
		v.f.Errorf("message kind %d came after the last one", m.Kind)
	}
	switch m.Kind {
	case terminal.MessageOutput:
		if m.Offset != v.next {
			v.f.Errorf("output at offset %d, want %d", m.Offset, v.next)
		}
		v.next = m.Offset + uint64(len(m.Data))
		v.bytes = append(v.bytes, m.Data...)
		v.screen.Write(m.Data)
	case terminal.MessageSnapshot:
		cols, rows := v.screen.Size()
		v.screen = vt.New(vt.Options{Cols: cols, Rows: rows})
		v.screen.Write(m.Data)
		v.next = m.Offset
	case terminal.MessageEvent:
		if m.Event.Kind == terminal.EventOutput {
			v.output = append(v.output, m.Event.Offset)
		}
		if m.Event.Size != nil {
			v.screen.Resize(int(m.Event.Size.Cols), int(m.Event.Size.Rows))
			v.sizes = append(v.sizes, terminal.Event{Offset: v.next, Size: m.Event.Size})
		}
	case terminal.MessageDetached, terminal.MessageExit:
		m.Data = nil
		v.last = &m
	default:
		v.f.Errorf("message of unknown kind %d", m.Kind)
	}
	return true
}

// until waits for a condition of the viewer, which is looked at with each
// message.
func (v *viewer) until(what string, is func() bool) {
	v.f.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		v.mu.Lock()
		yes, changed, err := is(), v.changed, v.err
		text := v.screen.Text(vt.TextOptions{})
		v.mu.Unlock()
		if yes {
			return
		}
		if err != nil {
			v.f.Fatalf("viewer ended by %v before: %s; its screen:\n%s", err, what, text)
		}
		select {
		case <-changed:
		case <-deadline.C:
			v.f.Fatalf("not after %v: %s; the screen:\n%s", patience, what, text)
		}
	}
}

// shows waits until the text is on the screen.
func (v *viewer) shows(text string) {
	v.f.Helper()
	v.until("shows "+text, func() bool { return strings.Contains(v.screen.Text(vt.TextOptions{}), text) })
}

// ends waits for the last message, and that io.EOF follows it.
func (v *viewer) ends(kind terminal.MessageKind) terminal.Message {
	v.f.Helper()
	v.until("last message", func() bool { return v.last != nil })
	v.until("end", func() bool { return v.err != nil })
	v.mu.Lock()
	defer v.mu.Unlock()
	if !errors.Is(v.err, io.EOF) {
		v.f.Errorf("after the last message: %v, want %v", v.err, io.EOF)
	}
	if v.last.Kind != kind {
		v.f.Fatalf("last message is of kind %d, want %d", v.last.Kind, kind)
	}
	return *v.last
}

func (v *viewer) types(text string) {
	v.f.Helper()
	v.f.ok(v.a.Input([]byte(text)))
}

func (v *viewer) resize(size terminal.Size) {
	v.f.Helper()
	v.f.ok(v.a.Resize(size))
	v.mu.Lock()
	v.screen.Resize(int(size.Cols), int(size.Rows))
	v.mu.Unlock()
}
