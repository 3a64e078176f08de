package ptyowner

import (
	"fmt"
	"io"

	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// replayEnded returns an attachment to a session without an owner: it delivers
// the output that is kept, then the exit.
func (s *session) replayEnded(l look, o terminal.AttachOptions) (terminal.Attachment, error) {
	r := journal.Open(s.dir.Journal())
	oldest, _, err := r.Bounds()
	if err != nil {
		return nil, err
	}
	if o.From != nil && *o.From > l.exit.Offset {
		return nil, fmt.Errorf("session %s has %d bytes of output, but output from offset %d was asked for: %w",
			s.dir.ID, l.exit.Offset, *o.From, terminal.ErrRange)
	}
	a := &endedAttachment{r: r, exit: *l.exit, screen: s.dir.File(state.ScreenFile), buf: make([]byte, 64<<10)}
	a.hello = terminal.Hello{
		Offset: l.exit.Offset, Head: l.exit.Offset, Oldest: oldest,
		Size: l.exit.Size, Title: l.exit.Title, Clipboard: l.record.Clipboard,
	}
	if o.From != nil && *o.From >= oldest {
		a.hello.Offset = *o.From
		a.offset = *o.From
	} else {
		a.wantScreen = true
	}
	return a, nil
}

// endedAttachment implements terminal.Attachment from the state directory.
type endedAttachment struct {
	hello      terminal.Hello
	r          *journal.Reader
	exit       terminal.Exit
	screen     string
	buf        []byte
	offset     uint64
	wantScreen bool
	last       bool
}

func (a *endedAttachment) Hello() terminal.Hello { return a.hello }

func (a *endedAttachment) Receive() (terminal.Message, error) {
	switch {
	case a.last:
		return terminal.Message{}, io.EOF
	case a.wantScreen:
		return a.snapshot()
	case a.offset < a.exit.Offset:
		n, err := a.r.ReadAt(a.buf, a.offset)
		if err != nil {
			// There is a gap, or the journal is shorter than the exit record
			// says. The last screen replaces the missing output.
			return a.snapshot()
		}
		m := terminal.Message{Kind: terminal.MessageOutput, Offset: a.offset, Data: a.buf[:n]}
		a.offset += uint64(n)
		return m, nil
	}
	a.last = true
	return terminal.Message{Kind: terminal.MessageExit, Exit: a.exit}, nil
}

func (a *endedAttachment) snapshot() (terminal.Message, error) {
	data, err := private.ReadFile(a.screen)
	if err != nil {
		return terminal.Message{}, fmt.Errorf("read last screen: %w", err)
	}
	a.wantScreen, a.offset = false, a.exit.Offset
	return terminal.Message{Kind: terminal.MessageSnapshot, Offset: a.exit.Offset, Data: data}, nil
}

func (a *endedAttachment) Input([]byte) error         { return terminal.ErrEnded }
func (a *endedAttachment) Resize(terminal.Size) error { return terminal.ErrEnded }
func (a *endedAttachment) Ack(uint64) error           { return nil }
func (a *endedAttachment) Close() error               { return a.r.Close() }
