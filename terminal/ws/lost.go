package ws

import (
	"bytes"
	"context"
	"fmt"

	"middleman/terminal"
)

// lostAttachment is the attachment to a session that has ended without an exit record: it delivers
// the last screen that is kept, and then the error of the attach.
type lostAttachment struct {
	hello  terminal.Hello
	screen []byte
	end    error
}

// attachLost returns what is kept of s. end is the error of the attach.
func attachLost(ctx context.Context, s terminal.Session, end error) (terminal.Attachment, error) {
	screen, err := s.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatANSI, Scrollback: true})
	if err != nil {
		return nil, fmt.Errorf("%w (its last screen: %w)", end, err)
	}
	rows := bytes.ReplaceAll(bytes.TrimRight(screen.Data, "\n"), []byte("\n"), []byte("\r\n"))
	return &lostAttachment{
		hello:  terminal.Hello{Offset: screen.Offset, Head: screen.Offset, Size: screen.Size, Title: screen.Title},
		screen: append([]byte("\x1b[m\x1b[H\x1b[2J"), rows...),
		end:    end,
	}, nil
}

func (l *lostAttachment) Hello() terminal.Hello { return l.hello }

func (l *lostAttachment) Receive() (terminal.Message, error) {
	if l.screen == nil {
		return terminal.Message{}, l.end
	}
	m := terminal.Message{Kind: terminal.MessageSnapshot, Offset: l.hello.Offset, Data: l.screen}
	l.screen = nil
	return m, nil
}

func (l *lostAttachment) Input([]byte) error         { return terminal.ErrEnded }
func (l *lostAttachment) Resize(terminal.Size) error { return terminal.ErrEnded }
func (l *lostAttachment) Ack(uint64) error           { return nil }
func (l *lostAttachment) Close() error               { return nil }
