package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// What a released protocol has sent is permanent, so a recording is written
// once and never again: -update writes those that are missing.
var update = flag.Bool("update", false, "write the recordings that are missing")

// recorded is one frame of a recording and what it means.
type recorded struct {
	typ   Type
	value any // a payload type, data, or what an Ack carries
}

// data is the meaning of an Output or Snapshot.
type data struct {
	offset uint64
	bytes  string
}

// recordedToken is as long as a real one, for tests that replace it.
const recordedToken = "recorded-token-recorded-token-recorded-toke"

var (
	at     = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)
	size   = Size{Cols: 80, Rows: 24}
	pixels = Size{Cols: 100, Rows: 30, XPixels: 1000, YPixels: 600}
	exit   = Exit{Code: -1, Signal: 15, SignalName: "SIGTERM", Offset: 21, Time: at, Size: pixels, Title: "a title"}
	typist = Writer{Client: "web", Since: at}
)

// version1 is protocol 1, by file, as the first release speaks it.
var version1 = map[string][]recorded{
	"hello": {
		{TypeHello, Hello{MinVersion: 1, MaxVersion: 1, Token: recordedToken, Mode: ModeAttach, Client: "attach",
			Size: &size, From: new(uint64), MaxLag: 1 << 20, Scrollback: 100}},
		{TypeHello, Hello{MinVersion: 1, MaxVersion: 1, Token: recordedToken, Mode: ModeWatch, Client: "web", Scrollback: -1}},
		{TypeHello, Hello{MinVersion: 1, MaxVersion: 1, Token: recordedToken, Mode: ModeControl, Client: "status"}},
		{TypeHello, Hello{MinVersion: 1, MaxVersion: 1, Token: recordedToken, Mode: ModeAttach, Client: "other",
			Size: &pixels, From: new(uint64), Takeover: true}},
	},
	"welcome": {
		{TypeWelcome, Welcome{Version: 1, Features: []string{"capture", "stop", "input", "wait"}, Session: "srec0rded00000001",
			PID: 4242, Size: size, Title: "a title", Head: 21, Offset: 0, Writer: &typist}},
		{TypeWelcome, Welcome{Version: 1, Features: []string{"capture", "stop", "input", "wait"}, Session: "srec0rded00000001",
			PID: 4242, Size: pixels, Head: 21, Oldest: 7, Offset: 21, Snapshot: true}},
	},
	"input":  {{TypeInput, "echo typed-$((40+2))\r"}},
	"output": {{TypeOutput, data{0, "first line\r\n"}}, {TypeOutput, data{12, "\x1b[1mbold!"}}},
	"snapshot": {
		{TypeSnapshot, data{21, "\x1b[2J\x1b[Hfirst line\r\n\x1b[1mbold!"}},
	},
	"resize": {{TypeResize, pixels}},
	"event": {
		{TypeEvent, Event{Kind: "title", Offset: 12, Text: "a title"}},
		{TypeEvent, Event{Kind: "bell", Offset: 12}},
		{TypeEvent, Event{Kind: "notification", Offset: 12, Text: "done"}},
		{TypeEvent, Event{Kind: "directory", Offset: 12, Text: "file:///tmp"}},
		{TypeEvent, Event{Kind: "writer", Offset: 12, Writer: &typist}},
		{TypeEvent, Event{Kind: "size", Offset: 12, Size: &pixels}},
	},
	"ack": {{TypeAck, uint64(21)}},
	"request": {
		{TypeRequest, Request{ID: 1, Verb: VerbStatus, Args: raw(struct{}{})}},
		{TypeRequest, Request{ID: 2, Verb: VerbCapture, Args: raw(CaptureArgs{Format: "text", Scrollback: true})}},
		{TypeRequest, Request{ID: 3, Verb: VerbInput, Args: raw(InputArgs{Data: []byte("echo asked-$((40+3))\r")})}},
		{TypeRequest, Request{ID: 4, Verb: VerbWait, Args: raw(struct{}{})}},
		{TypeRequest, Request{ID: 5, Verb: VerbStop, Args: raw(StopArgs{GraceMillis: new(int64)})}},
	},
	"reply": {
		{TypeReply, Reply{ID: 1, Result: raw(Status{State: "running", PID: 4242, OwnerPID: 4241, StartedAt: at,
			Size: size, Title: "a title", Oldest: 7, Head: 21, Writer: &typist, Watchers: 2})}},
		{TypeReply, Reply{ID: 1, Part: []byte("first "), More: true}},
		{TypeReply, Reply{ID: 1, Result: raw(Capture{Offset: 21, Size: size, Title: "a title"}), Part: []byte("line\n")}},
		{TypeReply, Reply{ID: 1, Result: raw(struct{}{})}},
		{TypeReply, Reply{ID: 1, Result: raw(exit)}},
		{TypeReply, Reply{ID: 1, Result: raw(StopResult{})}},
		{TypeReply, Reply{ID: 1, Result: raw(StopResult{Left: []int{4243}})}},
		{TypeReply, Reply{ID: 1, Error: &Error{Code: CodeEnded, Text: "session has ended"}}},
	},
	"exit": {
		{TypeExit, exit},
		{TypeExit, Exit{Code: 7, Offset: 21, Time: at, Size: size}},
	},
	"detached": {
		{TypeDetached, Detached{Reason: "takeover", Writer: &typist}},
		{TypeDetached, Detached{Reason: "stop"}},
		{TypeDetached, Detached{Reason: "policy", Text: "nothing was read for a minute"}},
	},
	"error": {
		{TypeError, Error{Code: CodeBusy, Text: "session srec0rded00000001 is attached by \"web\"", Writer: &typist}},
		{TypeError, Error{Code: CodeVersion, Text: "owner of session srec0rded00000001 speaks protocol 1 to 1, asked for 7 to 9"}},
		{TypeError, Error{Code: CodeRange, Text: "session srec0rded00000001 has 21 bytes of output, asked for those from 99"}},
		{TypeError, Error{Code: CodeViewers, Text: "session srec0rded00000001 has 32 watchers already"}},
		{TypeError, Error{Code: CodeBadRequest, Text: "mode \"own\" is not attach, watch or control"}},
	},
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// frame is what this build sends.
func (r recorded) frame() []byte {
	switch v := r.value.(type) {
	case string:
		return AppendFrame(nil, r.typ, []byte(v))
	case uint64:
		return AppendAck(nil, v)
	case data:
		return AppendData(nil, r.typ, v.offset, []byte(v.bytes))
	}
	return AppendControl(nil, r.typ, r.value)
}

// decode returns what a payload means to this build, as r's value does.
func (r recorded) decode(payload []byte) (any, error) {
	switch r.value.(type) {
	case string:
		return string(payload), nil
	case uint64:
		return ParseAck(payload)
	case data:
		offset, b, err := ParseData(payload)
		return data{offset, string(b)}, err
	}
	v := reflect.New(reflect.TypeOf(r.value))
	err := ParseControl(r.typ, payload, v.Interface())
	return v.Elem().Interface(), err
}

// TestRecordedVersion1: a frame of the first release means what it meant, and
// this build still sends what the first release understands.
func TestRecordedVersion1(t *testing.T) {
	for name, want := range version1 {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "v1", name+".frames")
			if *update {
				writeRecording(t, path, want)
			}
			stream, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := NewReader(bytes.NewReader(stream))
			for i, w := range want {
				typ, payload, err := in.Read(MaxFrame)
				if err != nil || typ != w.typ {
					t.Fatalf("frame %d: type %d, %v; want type %d", i, typ, err, w.typ)
				}
				got, err := w.decode(payload)
				if err != nil || !reflect.DeepEqual(got, w.value) {
					t.Errorf("frame %d means %+v, %v; want %+v", i, got, err, w.value)
				}
				stillSent(t, i, payload, w.frame()[HeaderSize:])
			}
			if _, _, err := in.Read(MaxFrame); !errors.Is(err, io.EOF) {
				t.Errorf("after the last frame: %v", err)
			}
		})
	}
}

// stillSent checks that sent says at least what was recorded. Raw payloads are
// equal; in JSON, fields may have been added.
func stillSent(t *testing.T, frame int, recorded, sent []byte) {
	t.Helper()
	var old, now any
	if json.Unmarshal(recorded, &old) != nil {
		if !bytes.Equal(recorded, sent) {
			t.Errorf("frame %d is sent as %x, was %x", frame, sent, recorded)
		}
		return
	}
	if err := json.Unmarshal(sent, &now); err != nil || !covers(now, old) {
		t.Errorf("frame %d is sent as %s, was %s (%v)", frame, sent, recorded, err)
	}
}

// covers reports whether now has all of old, and the same where both have it.
func covers(now, old any) bool {
	fields, ok := old.(map[string]any)
	if !ok {
		return reflect.DeepEqual(now, old)
	}
	have, ok := now.(map[string]any)
	for name, value := range fields {
		got, there := have[name]
		ok = ok && there && covers(got, value)
	}
	return ok
}

func writeRecording(t *testing.T, path string, frames []recorded) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	var stream []byte
	for _, r := range frames {
		stream = append(stream, r.frame()...)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stream, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every type that this build has is recorded.
func TestEveryTypeIsRecorded(t *testing.T) {
	seen := map[Type]bool{}
	for _, frames := range version1 {
		for _, r := range frames {
			seen[r.typ] = true
		}
	}
	for typ := TypeHello; typ <= TypeError; typ++ {
		if !seen[typ] {
			t.Errorf("type %d is not recorded", typ)
		}
	}
}
