package ws

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"middleman/terminal"
)

// Codes of error messages, the same words as the API's problems. All but
// CodeUnreachable and CodeInternal are final: trying again gets the same answer.
const (
	CodeWriterBusy     = "writer-busy" // somebody else is attached: take over or watch
	CodeTooManyViewers = "too-many-viewers"
	CodeForbidden      = "forbidden" // a watcher typed or resized
	CodeBadRequest     = "bad-request"
	CodeNotFound       = "not-found"
	CodeEnded          = "ended" // proved dead, and nothing of it to show
	CodeUnsupported    = "unsupported"
	CodeUnauthorized   = "unauthorized" // the login or token has ended: log in again
	CodeUnreachable    = "unreachable"  // says nothing of the session: come back
	CodeInternal       = "internal"
)

// helloMessage is the first message.
type helloMessage struct {
	Type string `json:"type"`
	// Offset is that of the first byte that follows.
	Offset uint64           `json:"offset"`
	Head   uint64           `json:"head"`
	Oldest uint64           `json:"oldest"`
	Size   terminal.Size    `json:"size"`
	Title  string           `json:"title,omitempty"`
	Writer *terminal.Writer `json:"writer,omitempty"`
	Mode   terminal.Mode    `json:"mode"`
	// Clipboard says whether the program may set this viewer's: that of a
	// watcher never.
	Clipboard terminal.Clipboard `json:"clipboard"`
	// HostAnswers is terminal.Hello's.
	HostAnswers bool `json:"host_answers,omitempty"`
}

// snapshotMessage announces the next binary message, which draws the screen
// as of Offset on a reset terminal. That message has Bytes bytes.
type snapshotMessage struct {
	Type   string `json:"type"`
	Offset uint64 `json:"offset"`
	Bytes  int    `json:"bytes,omitempty"` // 0 of a server that does not say it
}

type eventMessage struct {
	Type string `json:"type"`
	terminal.Event
}

type detachedMessage struct {
	Type   string                `json:"type"`
	Reason terminal.DetachReason `json:"reason"`
	Writer *terminal.Writer      `json:"writer,omitempty"` // who took over
}

type exitMessage struct {
	Type string `json:"type"`
	terminal.Exit
}

type errorMessage struct {
	Type    string           `json:"type"`
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Writer  *terminal.Writer `json:"writer,omitempty"` // who holds the session
}

type pongMessage struct {
	Type string `json:"type"`
}

// encode never fails: the messages hold no channels, functions or maps.
func encode(m any) []byte {
	p, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", m, err))
	}
	return p
}

// The types of messages from the client. Others are skipped, so that a newer
// client can talk to us.
const (
	typeResize = "resize"
	typeAck    = "ack"
	typePing   = "ping"
)

// clientMessage is a text message from the client; Type says which of the
// fields are meant.
type clientMessage struct {
	Type string `json:"type"`
	terminal.Size
	Offset uint64 `json:"offset,omitempty"`
}

// decode parses and checks a text message from the client.
func decode(p []byte) (clientMessage, error) {
	var m clientMessage
	if err := json.Unmarshal(p, &m); err != nil {
		return m, fmt.Errorf("text message is not of the protocol: %w", err)
	}
	if m.Type == typeResize && (m.Cols == 0 || m.Rows == 0) {
		return m, fmt.Errorf("resize to %dx%d", m.Cols, m.Rows)
	}
	return m, nil
}

// refusal is what the client is told of err. The text is by code, because an
// error's own may name sockets and paths.
func refusal(err error) (errorMessage, websocket.StatusCode) {
	m := errorMessage{Type: "error"}
	var busy *terminal.BusyError
	if errors.As(err, &busy) {
		m.Code, m.Message, m.Writer = CodeWriterBusy, busy.Error(), &busy.Writer
		return m, websocket.StatusPolicyViolation
	}
	for _, known := range []struct {
		err  error
		code string
	}{
		{terminal.ErrTooManyViewers, CodeTooManyViewers},
		{terminal.ErrNotWriter, CodeForbidden},
		{errProtocol, CodeBadRequest},
		{ErrUnauthorized, CodeUnauthorized},
		{terminal.ErrNotFound, CodeNotFound},
		{terminal.ErrGone, CodeEnded},
		{terminal.ErrEnded, CodeEnded},
		{errors.ErrUnsupported, CodeUnsupported},
	} {
		if errors.Is(err, known.err) {
			m.Code, m.Message = known.code, known.err.Error()
			return m, websocket.StatusPolicyViolation
		}
	}
	m.Code, m.Message = CodeInternal, "the server could not go on with this connection"
	if errors.Is(err, terminal.ErrUnreachable) {
		m.Code, m.Message = CodeUnreachable, terminal.ErrUnreachable.Error()
	}
	return m, websocket.StatusInternalError
}
