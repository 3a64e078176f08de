package ws_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"middleman/terminal"
	"middleman/terminal/ws"
)

// brittle is an attachment of which one method panics.
type brittle struct {
	*scripted
	receive bool // Receive does, else Input
}

type brittleSession struct {
	terminal.Session // only Attach is called
	attachment       *brittle
}

func (s brittleSession) Attach(context.Context, terminal.AttachOptions) (terminal.Attachment, error) {
	return s.attachment, nil
}

func (b *brittle) Receive() (terminal.Message, error) {
	if b.receive {
		panic("brittle")
	}
	return b.scripted.Receive()
}

func (b *brittle) Input([]byte) error { panic("brittle") }

// A panic ends the connection that it is of, with an error, and nothing else.
func TestPanicEndsOneConnection(t *testing.T) {
	for _, receive := range []bool{false, true} {
		srv := serve(t, brittleSession{attachment: &brittle{newScripted(), receive}}, nil)
		c := join(t, srv, "")
		if !receive {
			c.input([]byte("x"))
		}
		c.wantError(ws.CodeInternal, websocket.StatusInternalError)
		if err := srv.served(t); err == nil || !strings.Contains(err.Error(), "brittle).") {
			t.Errorf("Serve returned %v, which has no stack", err)
		}
	}
}
