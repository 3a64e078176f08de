package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// stutter is a stream that fails after every run bytes, and goes on when it is
// read again.
type stutter struct {
	in       []byte
	run      int
	together bool // the error comes with the bytes before it
	failed   bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	if s.failed = !s.failed; s.failed && !s.together {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p[:min(len(p), s.run)], s.in)
	s.in = s.in[n:]
	if s.together {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// frames is a stream with every kind of length, and what a Reader makes of it.
func frames() (stream []byte, types []Type, payloads [][]byte) {
	for i, size := range []int{0, 1, 2, 3, 4, 5, 8, 300, MaxHello, MaxFrame - 1, MaxFrame, 0, 7} {
		payload := bytes.Repeat([]byte{byte('a' + i)}, size)
		types, payloads = append(types, Type(i+1)), append(payloads, payload)
		stream = AppendFrame(stream, Type(i+1), payload)
	}
	return stream, types, payloads
}

// Whatever the stream's errors come between, no byte is lost, also where each
// error moves the connection to another Reader.
func TestReaderResumes(t *testing.T) {
	stream, types, payloads := frames()
	for _, tt := range []struct {
		name  string
		in    stutter
		moves bool
	}{
		{"after every byte", stutter{run: 1}, false},
		{"with every byte", stutter{run: 1, together: true}, false},
		{"after three", stutter{run: 3}, false},
		{"with every 4 KiB", stutter{run: 4096, together: true}, false},
		{"moved after every byte of short frames", stutter{run: 1}, true},
		{"moved after every 1001 bytes", stutter{run: 1001, together: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, types, payloads := tt.in, types, payloads
			in.in = stream
			if in.run == 1 && tt.moves { // each move copies what is buffered
				types, payloads = types[:8], payloads[:8]
			}
			r := NewReader(&in)
			for i := range types {
				var typ Type
				var payload []byte
				err := os.ErrDeadlineExceeded
				for errors.Is(err, os.ErrDeadlineExceeded) {
					if typ, payload, err = r.Read(MaxFrame); err != nil && tt.moves {
						r = NewReaderFrom(r.Buffered(), &in)
					}
				}
				if err != nil || typ != types[i] || !bytes.Equal(payload, payloads[i]) {
					t.Fatalf("frame %d: type %d with %d bytes, %v; want type %d with %d bytes",
						i, typ, len(payload), err, types[i], len(payloads[i]))
				}
				if left := r.Buffered(); len(left) > 0 {
					t.Fatalf("%d bytes are buffered after a whole frame", len(left))
				}
			}
		})
	}
}

// Buffered is exactly what was taken from the stream, at every cut.
func TestBuffered(t *testing.T) {
	frame := AppendData(nil, TypeOutput, 77, []byte("some bytes"))
	next := AppendAck(nil, 3)
	for n := range len(frame) {
		r := NewReader(io.MultiReader(bytes.NewReader(frame[:n]), &stutter{in: frame[n:], run: 1}))
		if _, _, err := r.Read(MaxFrame); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if got := r.Buffered(); !bytes.Equal(got, frame[:n]) {
			t.Fatalf("cut at %d: buffered %x, want %x", n, got, frame[:n])
		}
	}
	// A prefix of more than a frame is no loss either.
	r := NewReaderFrom(append(bytes.Clone(frame), next...), bytes.NewReader(nil))
	if typ, _, err := r.Read(MaxFrame); err != nil || typ != TypeOutput || !bytes.Equal(r.Buffered(), next) {
		t.Fatalf("type %d, %v, buffered %x, want %x", typ, err, r.Buffered(), next)
	}
	if typ, _, err := r.Read(MaxFrame); err != nil || typ != TypeAck || len(r.Buffered()) > 0 {
		t.Fatalf("type %d, %v", typ, err)
	}
	if _, _, err := r.Read(MaxFrame); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
}

// A frame over the limit stays refused, also by a Reader that it moved to.
func TestTooLargeStaysTooLarge(t *testing.T) {
	r := NewReader(bytes.NewReader(AppendFrame(nil, TypeInput, make([]byte, MaxHello+1))))
	for range 3 {
		if _, _, err := r.Read(MaxHello); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}
	r = NewReaderFrom(r.Buffered(), r.in.r)
	if _, _, err := r.Read(MaxHello); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if _, payload, err := r.Read(MaxFrame); err != nil || len(payload) != MaxHello+1 {
		t.Fatalf("within a larger limit: %d bytes, %v", len(payload), err)
	}
}
