package ws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"middleman/terminal"
)

const (
	// readLimit is the most in one message of the client; more closes the
	// connection with status 1009. A client sends a large paste in parts.
	readLimit = 1 << 20
	// silence is the default of Options.Silence.
	silence = 45 * time.Second
)

// ErrUnauthorized is the cause of a context that Serve got for a caller whose
// login or token has ended since.
var ErrUnauthorized = errors.New("the login or token of this connection has ended")

// errProtocol: the client sent what the protocol does not have.
var errProtocol = errors.New("the client broke the protocol")

// Options says how a browser joins a session; see ParseQuery.
type Options struct {
	Attach terminal.AttachOptions
	// Silence is how long the peer may send nothing and take nothing before
	// it counts as gone; 0 means 45 s. It is pinged after a third of it.
	Silence time.Duration
}

// Serve attaches conn to s. It blocks until the connection, the attachment or
// ctx ends, and closes connection and attachment. It owns conn, which must have
// been accepted without compression.
//
// The error is for a log: nil when the program's exit or a detach was
// delivered, the peer left, or ctx ended. The client was told its own words:
// an offset that the session never had gets it a snapshot, a refused attach
// is an error message with status 1008, which a session that ended without an exit record
// gets after its last screen, and a session that does not answer is
// code unreachable with status 1011, never an exit.
func Serve(ctx context.Context, conn *websocket.Conn, s terminal.Session, o Options) error {
	conn.SetReadLimit(readLimit)
	attachment, err := attach(ctx, s, o.Attach)
	if err != nil && ctx.Err() != nil {
		message, status := stopMessage(ctx)
		closeWith(conn, message, status)
		return nil
	}
	if err != nil {
		err = fmt.Errorf("attach: %w", err)
		message, status := refusal(err)
		closeWith(conn, message, status)
		return err
	}
	if o.Silence == 0 {
		o.Silence = silence
	}
	return newBridge(conn, attachment, o).run(ctx)
}

// attach joins s. An offset beyond the head belongs to an earlier life of the
// session, such as before its files were restored; the client gets a snapshot
// then.
func attach(ctx context.Context, s terminal.Session, o terminal.AttachOptions) (terminal.Attachment, error) {
	a, err := s.Attach(ctx, o)
	if o.From != nil && errors.Is(err, terminal.ErrRange) {
		o.From = nil
		a, err = s.Attach(ctx, o)
	}
	if errors.Is(err, terminal.ErrGone) {
		return attachLost(ctx, s, err)
	}
	return a, err
}

// stopMessage is the last message to a client when ctx has ended. The session
// goes on, so the client reconnects to the next server, unless its own login
// or token has ended.
func stopMessage(ctx context.Context) (message any, status websocket.StatusCode) {
	if errors.Is(context.Cause(ctx), ErrUnauthorized) {
		return refusal(ErrUnauthorized)
	}
	return detachedMessage{Type: "detached", Reason: terminal.DetachStop}, websocket.StatusGoingAway
}

// closeWith sends the only message of a connection that was never joined to a
// session, and closes it. An error means that the client has left.
func closeWith(conn *websocket.Conn, message any, status websocket.StatusCode) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if conn.Write(ctx, websocket.MessageText, encode(message)) != nil {
		conn.CloseNow()
		return
	}
	conn.Close(status, "")
}
