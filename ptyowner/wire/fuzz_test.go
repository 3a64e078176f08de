package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// recordings returns the recorded streams of every released protocol.
func recordings(t testing.TB) (streams [][]byte) {
	t.Helper()
	paths, err := filepath.Glob("testdata/v*/*.frames")
	if err != nil || len(paths) == 0 {
		t.Fatalf("recorded streams: %d, %v", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, b)
	}
	return streams
}

// seed gives a fuzz target the recorded payloads of one type.
func seed(f *testing.F, typ Type) {
	f.Helper()
	for _, stream := range recordings(f) {
		for r := NewReader(bytes.NewReader(stream)); ; {
			t, payload, err := r.Read(MaxFrame)
			if err != nil {
				break
			}
			if t == typ {
				f.Add(bytes.Clone(payload))
			}
		}
	}
}

// FuzzReader: a stream encodes to what was read, in whatever pieces it came.
func FuzzReader(f *testing.F) {
	for _, stream := range recordings(f) {
		f.Add(stream, 1)
	}
	f.Add([]byte{0, 0, 0, 1}, 3)
	f.Add([]byte{0, 0, 0, 0, 9, 0, 1, 0, 1, 4}, 2)
	f.Fuzz(func(t *testing.T, in []byte, run int) {
		whole := NewReader(bytes.NewReader(in))
		moved := &stutter{in: in, run: max(run, 1), together: run%2 == 0}
		other := NewReader(moved)
		var out []byte
		for {
			typ, payload, err := whole.Read(MaxFrame)
			typ2, payload2, err2 := other.Read(MaxFrame)
			for len(moved.in) > 0 && errors.Is(err2, os.ErrDeadlineExceeded) {
				other = NewReaderFrom(other.Buffered(), moved)
				typ2, payload2, err2 = other.Read(MaxFrame)
			}
			if err != nil {
				break
			}
			if err2 != nil || typ2 != typ || !bytes.Equal(payload2, payload) {
				t.Fatalf("type %d %x, in pieces type %d %x %v", typ, payload, typ2, payload2, err2)
			}
			out = AppendFrame(out, typ, payload)
		}
		if left := whole.Buffered(); !bytes.HasPrefix(in, append(out, left...)) {
			t.Fatalf("%x was read as %x, and %x is buffered", in, out, left)
		}
	})
}

// FuzzData: Output and Snapshot frames.
func FuzzData(f *testing.F) {
	seed(f, TypeOutput)
	seed(f, TypeSnapshot)
	f.Fuzz(func(t *testing.T, payload []byte) {
		offset, data, err := ParseData(payload)
		if err != nil {
			if len(payload) >= OffsetSize {
				t.Fatal(err)
			}
			return
		}
		if again := AppendData(nil, TypeOutput, offset, data); !bytes.Equal(again[HeaderSize:], payload) {
			t.Fatalf("data frame %x encodes to %x", payload, again)
		}
	})
}

func FuzzAck(f *testing.F) {
	seed(f, TypeAck)
	f.Fuzz(func(t *testing.T, payload []byte) {
		offset, err := ParseAck(payload)
		if err != nil {
			if len(payload) == OffsetSize {
				t.Fatal(err)
			}
			return
		}
		if again := AppendAck(nil, offset); !bytes.Equal(again[HeaderSize:], payload) {
			t.Fatalf("ack %x encodes to %x", payload, again)
		}
	})
}

// fuzzControl decodes, encodes and decodes again: encoding is canonical, and
// what it encodes to means the same.
func fuzzControl[T any](f *testing.F, typ Type) {
	f.Helper()
	seed(f, typ)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"from_the_future":[1,{"a":null}],"size":null}`))
	f.Fuzz(func(t *testing.T, payload []byte) { roundTrip[T](t, typ, payload) })
}

func roundTrip[T any](t *testing.T, typ Type, payload []byte) {
	t.Helper()
	decode := func(p []byte) (v T) {
		if err := ParseControl(typ, p, &v); err != nil {
			t.Fatalf("%s does not decode again: %v", p, err)
		}
		return v
	}
	var first T
	if ParseControl(typ, payload, &first) != nil {
		return
	}
	frame := AppendControl(nil, typ, first)
	_, encoded, err := NewReader(bytes.NewReader(frame)).Read(len(frame))
	if err != nil {
		t.Fatal(err)
	}
	second := decode(encoded)
	again := AppendControl(nil, typ, second)
	if !bytes.Equal(frame, again) {
		t.Fatalf("%s became %s", encoded, again[HeaderSize:])
	}
	if third := decode(again[HeaderSize:]); !reflect.DeepEqual(second, third) {
		t.Fatalf("%s is %+v and %+v", encoded, second, third)
	}
}

func FuzzHello(f *testing.F)    { fuzzControl[Hello](f, TypeHello) }
func FuzzWelcome(f *testing.F)  { fuzzControl[Welcome](f, TypeWelcome) }
func FuzzResize(f *testing.F)   { fuzzControl[Size](f, TypeResize) }
func FuzzEvent(f *testing.F)    { fuzzControl[Event](f, TypeEvent) }
func FuzzRequest(f *testing.F)  { fuzzControl[Request](f, TypeRequest) }
func FuzzReply(f *testing.F)    { fuzzControl[Reply](f, TypeReply) }
func FuzzExit(f *testing.F)     { fuzzControl[Exit](f, TypeExit) }
func FuzzDetached(f *testing.F) { fuzzControl[Detached](f, TypeDetached) }
func FuzzError(f *testing.F)    { fuzzControl[Error](f, TypeError) }

// FuzzArgs: what Requests and Replies carry.
func FuzzArgs(f *testing.F) {
	for _, stream := range recordings(f) {
		for r := NewReader(bytes.NewReader(stream)); ; {
			typ, payload, err := r.Read(MaxFrame)
			if err != nil {
				break
			}
			var inner struct{ Args, Result json.RawMessage }
			if typ != TypeRequest && typ != TypeReply || json.Unmarshal(payload, &inner) != nil {
				continue
			}
			f.Add([]byte(inner.Args))
			f.Add([]byte(inner.Result))
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		roundTrip[Status](t, TypeReply, payload)
		roundTrip[Capture](t, TypeReply, payload)
		roundTrip[StopResult](t, TypeReply, payload)
		roundTrip[CaptureArgs](t, TypeRequest, payload)
		roundTrip[StopArgs](t, TypeRequest, payload)
		roundTrip[InputArgs](t, TypeRequest, payload)
	})
}
