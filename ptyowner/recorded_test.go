//go:build unix

package ptyowner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/ptyowner/wire"
)

// recordedToken is the token in recordings and in testdata/v1/owner.json; it is
// as long as a real one.
const recordedToken = "recorded-token-recorded-token-recorded-toke"

// recorded returns the frames of a recording of protocol 1, each whole.
func recorded(t *testing.T, name string) (frames [][]byte) {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("wire", "testdata", "v1", name+".frames"))
	if err != nil {
		t.Fatal(err)
	}
	for r := wire.NewReader(bytes.NewReader(stream)); ; {
		typ, payload, err := r.Read(wire.MaxFrame)
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, wire.AppendFrame(nil, typ, payload))
	}
}

// recordedPeer is a client of the first release, as far as its bytes go, that
// has said one of the recorded Hellos and was welcomed.
func recordedPeer(t *testing.T, data, id string, hello int) (p *peer, welcome wire.Welcome) {
	t.Helper()
	p = dialOwner(t, data, id)
	frame := bytes.Replace(recorded(t, "hello")[hello], []byte(recordedToken), []byte(p.token), 1)
	p.send(frame)
	if typ := p.control(&welcome); typ != wire.TypeWelcome {
		t.Fatalf("recorded hello %d is answered by type %d", hello, typ)
	}
	if welcome.Version != 1 || welcome.Session != id || welcome.PID == 0 {
		t.Errorf("recorded hello %d is welcomed by %+v", hello, welcome)
	}
	return p, welcome
}

// control reads a frame whose payload is JSON into v.
func (p *peer) control(v any) wire.Type {
	p.t.Helper()
	typ, payload, err := p.r.Read(wire.MaxFrame)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := wire.ParseControl(typ, payload, v); err != nil {
		p.t.Fatal(err)
	}
	return typ
}

// until reads frames up to one that is wanted, and checks that output is
// contiguous from next.
func (p *peer) until(next *uint64, wanted func(typ wire.Type, payload []byte) bool) {
	p.t.Helper()
	for {
		typ, payload, err := p.r.Read(wire.MaxFrame)
		if err != nil {
			p.t.Fatal(err)
		}
		if typ == wire.TypeOutput {
			offset, data, err := wire.ParseData(payload)
			if err != nil || offset != *next {
				p.t.Fatalf("output at %d, want %d (%v)", offset, *next, err)
			}
			*next += uint64(len(data))
		}
		if wanted(typ, payload) {
			return
		}
	}
}

// shows waits for output that contains a text.
func (p *peer) shows(next *uint64, text string) {
	p.t.Helper()
	shown := ""
	p.until(next, func(typ wire.Type, payload []byte) bool {
		if typ == wire.TypeOutput {
			shown += string(payload[wire.OffsetSize:])
		}
		return strings.Contains(shown, text)
	})
}

// TestRecordedClient: a client of the first release drives this build's owner.
func TestRecordedClient(t *testing.T) {
	data, newBackend := newBackends(t)
	s := spec(`stty -echo; echo READY; while read -r line; do eval "$line"; done`)
	start(t, newBackend(), s, nil)
	requests := recorded(t, "request")

	var next uint64
	attached, welcome := recordedPeer(t, data, s.ID, 0)
	if welcome.Snapshot || welcome.Offset != 0 || welcome.Size.Cols != 80 {
		t.Errorf("attached by %+v", welcome)
	}
	attached.shows(&next, "READY")
	attached.send(recorded(t, "input")[0])
	attached.shows(&next, "typed-42")
	attached.send(recorded(t, "resize")[0])
	attached.until(&next, func(typ wire.Type, payload []byte) bool {
		var e wire.Event
		return typ == wire.TypeEvent && json.Unmarshal(payload, &e) == nil && e.Kind == "size" && e.Size.Cols == 100
	})
	attached.send(recorded(t, "ack")[0])

	watching, welcome := recordedPeer(t, data, s.ID, 1)
	typ, payload, err := watching.r.Read(wire.MaxFrame)
	if err != nil || !welcome.Snapshot || typ != wire.TypeSnapshot || !bytes.Contains(payload, []byte("typed-42")) {
		t.Errorf("watching by %+v, then type %d %q %v", welcome, typ, payload, err)
	}

	asking, _ := recordedPeer(t, data, s.ID, 2)
	var status wire.Status
	asking.send(requests[0])
	asking.reply(1, &status)
	if status.State != "running" || status.Size.Rows != 30 || status.Writer == nil || status.Writer.Client != "attach" || status.Watchers != 1 {
		t.Errorf("status %+v", status)
	}
	var capture wire.Capture
	asking.send(requests[1])
	if text := asking.reply(2, &capture); !strings.Contains(text, "typed-42") || capture.Size.Cols != 100 {
		t.Errorf("capture %+v of %q", capture, text)
	}
	asking.send(requests[2])
	asking.reply(3, &struct{}{})
	attached.shows(&next, "asked-43")

	taking, welcome := recordedPeer(t, data, s.ID, 3)
	if welcome.Writer == nil || welcome.Writer.Client != "other" {
		t.Errorf("took over by %+v", welcome)
	}
	attached.until(&next, func(typ wire.Type, payload []byte) bool {
		var d wire.Detached
		return typ == wire.TypeDetached && json.Unmarshal(payload, &d) == nil && d.Reason == "takeover" && d.Writer.Client == "other"
	})
	attached.closed("a displaced writer")

	var exit wire.Exit
	asking.send(requests[3])
	waiting, _ := recordedPeer(t, data, s.ID, 2)
	waiting.send(requests[4])
	waiting.reply(5, &wire.StopResult{})
	asking.reply(4, &exit)
	if exit.Signal == 0 || exit.SignalName == "" || exit.Time.IsZero() || exit.Size.Cols != 100 {
		t.Errorf("waited for %+v", exit)
	}
	next = 0
	taking.until(&next, func(typ wire.Type, payload []byte) bool {
		var e wire.Exit
		return typ == wire.TypeExit && json.Unmarshal(payload, &e) == nil && e.Signal == exit.Signal && e.Offset == next
	})
	taking.closed("after the exit")
}

// reply reads the replies to one request, and returns their parts.
func (p *peer) reply(id uint64, result any) (parts string) {
	p.t.Helper()
	for {
		var reply wire.Reply
		if typ := p.control(&reply); typ != wire.TypeReply || reply.ID != id || reply.Error != nil {
			p.t.Fatalf("request %d: type %d %+v", id, typ, reply)
		}
		parts += string(reply.Part)
		if reply.More {
			continue
		}
		if err := json.Unmarshal(reply.Result, result); err != nil {
			p.t.Fatal(err)
		}
		return parts
	}
}
