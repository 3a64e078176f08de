//go:build unix

package ws_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"middleman/terminal"
)

// frame returns a frame of a server with the beginning of its payload (RFC 6455, 5.2).
func frame(kind websocket.MessageType, length int, payload []byte) []byte {
	head := []byte{0x80 | byte(kind), 127}
	return append(binary.BigEndian.AppendUint64(head, uint64(length)), payload...)
}

// cutServer answers a join with what is sent, and closes the connection.
func cutServer(t *testing.T, sent []byte) (url string) {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
		conn.Write(sent)
	}))
	t.Cleanup(h.Close)
	return "ws" + strings.TrimPrefix(h.URL, "http")
}

func text(s string) []byte { return frame(websocket.MessageText, len(s), []byte(s)) }

// A server that is killed ends its connections between two messages, or within one.
// Neither is the regular end of an attachment, and no part of a screen is a screen.
func TestConnectionThatEnds(t *testing.T) {
	t.Parallel()
	hello := text(`{"type":"hello","offset":5,"head":5}`)
	for name, after := range map[string][]byte{
		"between messages":      nil,
		"before a payload":      frame(websocket.MessageBinary, 100, nil),
		"within output":         frame(websocket.MessageBinary, 100, []byte("part")),
		"within a text":         frame(websocket.MessageText, 100, []byte(`{"type":`)),
		"before the screen":     text(`{"type":"snapshot","offset":7,"bytes":70000}`),
		"within the screen":     append(text(`{"type":"snapshot","offset":7,"bytes":70000}`), frame(websocket.MessageBinary, 70000, bytes.Repeat([]byte("x"), 1000))...),
		"between reads of it":   append(text(`{"type":"snapshot","offset":7,"bytes":70000}`), frame(websocket.MessageBinary, 70000, bytes.Repeat([]byte("x"), 64<<10+512))...),
		"a screen of less than": append(text(`{"type":"snapshot","offset":7,"bytes":70000}`), frame(websocket.MessageBinary, 3, []byte("abc"))...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := joined(t, cutServer(t, append(bytes.Clone(hello), after...)), terminal.AttachOptions{Mode: terminal.ModeWatch})
			if err != nil {
				t.Fatal(err)
			}
			for {
				m, err := a.Receive()
				if err == nil && m.Kind == terminal.MessageOutput && len(m.Data) == 0 {
					continue
				}
				if err == nil || errors.Is(err, io.EOF) || !errors.Is(err, terminal.ErrUnreachable) {
					t.Errorf("received %+v, %v", m, err)
				}
				return
			}
		})
	}
}

// endless is a session whose attachments end with io.EOF and no last message.
type endless struct{ terminal.Session }

func (s endless) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	a, err := s.Session.Attach(ctx, o)
	return endlessAttachment{a}, err
}

type endlessAttachment struct{ terminal.Attachment }

func (endlessAttachment) Receive() (terminal.Message, error) { return terminal.Message{}, io.EOF }

// Whatever an attachment does, no client waits for ever.
func TestEndWithoutALastMessage(t *testing.T) {
	t.Parallel()
	srv := serve(t, endless{start(t, "read x")}, nil)
	a, err := joined(t, srv.url, terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := a.Receive(); !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("received %+v, %v", m, err)
	}
}
