package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrameLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int
		limit int
		want  error
	}{
		{"under", MaxHello - 1, MaxHello, nil},
		{"at", MaxHello, MaxHello, nil},
		{"over", MaxHello + 1, MaxHello, ErrTooLarge},
		{"empty", 0, MaxHello, nil},
		{"full frame", MaxFrame, MaxFrame, nil},
		{"over a frame", MaxFrame + 1, MaxFrame, ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			frame := AppendFrame(nil, TypeInput, make([]byte, tt.size))
			_, payload, err := NewReader(bytes.NewReader(frame)).Read(tt.limit)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && len(payload) != tt.size {
				t.Fatalf("payload has %d bytes, want %d", len(payload), tt.size)
			}
		})
	}
}

// A length of 4 GiB is refused before anything is allocated for it.
func TestHugeLengthAllocatesNothing(t *testing.T) {
	header := []byte{0xff, 0xff, 0xff, 0xff, byte(TypeInput)}
	if n := testing.AllocsPerRun(10, func() {
		r := NewReader(bytes.NewReader(header))
		if _, _, err := r.Read(MaxFrame); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadsByteByByte(t *testing.T) {
	var in []byte
	in = AppendControl(in, TypeHello, Hello{Token: "t", Mode: ModeAttach})
	in = AppendFrame(in, 200, []byte("from the future"))
	in = AppendData(in, TypeOutput, 1<<40, []byte("bytes"))
	r := NewReader(iotest.OneByteReader(bytes.NewReader(in)))
	var types []Type
	for {
		typ, payload, err := r.Read(MaxFrame)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, typ)
		if typ == TypeOutput {
			offset, data, err := ParseData(payload)
			if err != nil || offset != 1<<40 || string(data) != "bytes" {
				t.Fatalf("output %d %q %v", offset, data, err)
			}
		}
	}
	if len(types) != 3 || types[1] != 200 {
		t.Fatalf("types %v", types)
	}
}

func TestTruncatedFrame(t *testing.T) {
	frame := AppendFrame(nil, TypeInput, []byte("abc"))
	for n := 1; n < len(frame); n++ {
		_, _, err := NewReader(bytes.NewReader(frame[:n])).Read(MaxFrame)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// The numbers of types are permanent: owners outlive upgrades.
func TestTypeNumbersArePermanent(t *testing.T) {
	want := map[Type]Type{
		TypeHello: 1, TypeWelcome: 2, TypeInput: 3, TypeOutput: 4, TypeSnapshot: 5, TypeResize: 6, TypeEvent: 7,
		TypeAck: 8, TypeRequest: 9, TypeReply: 10, TypeExit: 11, TypeDetached: 12, TypeError: 13,
	}
	for got, want := range want {
		if got != want {
			t.Errorf("type %d is now %d", want, got)
		}
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	var h Hello
	if err := ParseControl(TypeHello, []byte(`{"token":"x","mode":"watch","from_the_future":[1]}`), &h); err != nil || h.Token != "x" {
		t.Fatal(h, err)
	}
	err := ParseControl(TypeHello, []byte(`{"token":`), &h)
	if err == nil || !strings.Contains(err.Error(), "frame type 1") {
		t.Fatal(err)
	}
}
