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
	// silence is how long a peer may send nothing, not even a pong.
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

// Serve attaches conn to s and returns when either is at its end, or ctx is;
// conn and the attachment are closed then. It owns conn, which must have been
// accepted without compression.
//
// The error is for a log: nil when the program's exit or a detach was
// delivered, the peer left, or ctx ended. The client was told its own words:
// an offset that the session never had gets it a snapshot, a refused attach
// is an error message with status 1008, and a session that does not answer is
// code unreachable with status 1011, never an exit.
func Serve(ctx context.Context, conn *websocket.Conn, s terminal.Session, o Options) error {
	conn.SetReadLimit(readLimit)
	attachment, err := attach(ctx, s, o.Attach)
	if err != nil {
		return refuse(ctx, conn, fmt.Errorf("attach: %w", err))
	}
	if o.Silence == 0 {
		o.Silence = silence
	}
	return newBridge(conn, attachment, o).run(ctx)
}

// attach joins s. A client with an offset beyond the head has it from another
// life of the session, such as before a restore of its files.
func attach(ctx context.Context, s terminal.Session, o terminal.AttachOptions) (terminal.Attachment, error) {
	a, err := s.Attach(ctx, o)
	if o.From != nil && errors.Is(err, terminal.ErrRange) {
		o.From = nil
		a, err = s.Attach(ctx, o)
	}
	return a, err
}

// refuse tells the client why it cannot join. It returns err, and not what
// became of telling.
func refuse(ctx context.Context, conn *websocket.Conn, err error) error {
	message, status := refusal(err)
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	if conn.Write(ctx, websocket.MessageText, encode(message)) != nil {
		conn.CloseNow()
		return err
	}
	conn.Close(status, message.Code)
	return err
}
