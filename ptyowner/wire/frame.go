package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Type is a frame's type. Its numbers are permanent.
type Type byte

// The frame types. "in" frames go to the owner, "out" frames come from it.
const (
	TypeHello    Type = 1  // in, first: Hello
	TypeWelcome  Type = 2  // out: Welcome
	TypeInput    Type = 3  // in: bytes
	TypeOutput   Type = 4  // out: uint64 offset, bytes
	TypeSnapshot Type = 5  // out: uint64 offset, bytes that draw the screen on a reset terminal; after a full frame (MaxData) another follows
	TypeResize   Type = 6  // in: Size
	TypeEvent    Type = 7  // out: Event
	TypeAck      Type = 8  // in: uint64 offset
	TypeRequest  Type = 9  // in: Request
	TypeReply    Type = 10 // out: Reply
	TypeExit     Type = 11 // out, last: Exit
	TypeDetached Type = 12 // out, last: Detached
	TypeError    Type = 13 // out, last: Error
)

// Known reports whether this build knows frames of type t. It skips others.
func (t Type) Known() bool { return t >= TypeHello && t <= TypeError }

// Limits of the protocol.
const (
	// HeaderSize is the number of bytes of a frame's length and type.
	HeaderSize = 5
	// MaxFrame bounds the payload of every frame but Hello.
	MaxFrame = 64 << 10
	// MaxHello bounds the payload of Hello.
	MaxHello = 4 << 10
	// OffsetSize is the number of bytes of the offset that begins the payload
	// of an Output, Snapshot or Ack frame.
	OffsetSize = 8
	// MaxData is how many data bytes fit an Output or Snapshot frame.
	MaxData = MaxFrame - OffsetSize
)

// ErrTooLarge means that a frame exceeds the limit. Read returns it before it
// allocates anything for the frame.
var ErrTooLarge = errors.New("frame is too large")

// Reader reads frames. After an error of the stream, the next Read continues
// within the same frame, so no byte is lost. A Reader is not safe for
// concurrent use.
type Reader struct {
	in     source
	header [HeaderSize]byte
	buf    []byte
	have   int // how many bytes of the next frame were read: header first, then buf
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return NewReaderFrom(nil, r) }

// NewReaderFrom returns a Reader of prefix and then r, to continue where
// another Reader of the stream stopped; prefix is what its Buffered returned.
// It copies prefix.
func NewReaderFrom(prefix []byte, r io.Reader) *Reader {
	return &Reader{in: source{prefix: bytes.Clone(prefix), r: r}}
}

// Buffered returns a copy of the bytes that were read from the stream and do
// not belong to a frame that Read has returned.
func (r *Reader) Buffered() []byte {
	b := bytes.Clone(r.header[:min(r.have, HeaderSize)])
	b = append(b, r.buf[:max(r.have-HeaderSize, 0)]...)
	return append(b, r.in.prefix...)
}

// Read blocks for the next frame. The payload is valid until the next call. If
// the payload exceeds limit, this and every later call returns ErrTooLarge. The
// stream's end is io.EOF between frames and io.ErrUnexpectedEOF within one.
// After any other error of the stream, such as a deadline, Read can be called
// again.
func (r *Reader) Read(limit int) (Type, []byte, error) {
	if err := r.fill(r.header[:], 0); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(r.header[:4])
	if uint64(size) > uint64(limit) {
		return 0, nil, fmt.Errorf("%w: type %d, %d bytes, at most %d", ErrTooLarge, r.header[4], size, limit)
	}
	if int(size) > cap(r.buf) {
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	if err := r.fill(r.buf, HeaderSize); err != nil {
		return 0, nil, err
	}
	r.have = 0
	return Type(r.header[4]), r.buf, nil
}

// fill reads the missing bytes of part, which begins at the frame's byte at.
func (r *Reader) fill(part []byte, at int) error {
	if r.have >= at+len(part) {
		return nil
	}
	n, err := io.ReadFull(&r.in, part[r.have-at:])
	r.have += n
	if errors.Is(err, io.EOF) && r.have > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// source reads prefix and then r.
type source struct {
	prefix []byte
	r      io.Reader
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.prefix) == 0 {
		return s.r.Read(p)
	}
	n := copy(p, s.prefix)
	s.prefix = s.prefix[n:]
	return n, nil
}

// AppendHeader appends to dst the header of a frame with size bytes of payload.
func AppendHeader(dst []byte, t Type, size int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	return append(dst, byte(t))
}

// AppendFrame appends a whole frame to dst.
func AppendFrame(dst []byte, t Type, payload []byte) []byte {
	return append(AppendHeader(dst, t, len(payload)), payload...)
}

// AppendData appends an Output or Snapshot frame to dst.
func AppendData(dst []byte, t Type, offset uint64, data []byte) []byte {
	dst = AppendHeader(dst, t, OffsetSize+len(data))
	dst = binary.BigEndian.AppendUint64(dst, offset)
	return append(dst, data...)
}

// AppendControl appends to dst a frame with v as JSON payload. v must be one of
// this package's payload types, which always marshal; it panics on any other
// that does not.
func AppendControl(dst []byte, t Type, v any) []byte {
	payload, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: payload %T does not marshal: %v", v, err))
	}
	return AppendFrame(dst, t, payload)
}

// ParseData splits the payload of an Output or Snapshot frame. data aliases
// payload.
func ParseData(payload []byte) (offset uint64, data []byte, err error) {
	if len(payload) < OffsetSize {
		return 0, nil, fmt.Errorf("data frame of %d bytes has no offset", len(payload))
	}
	return binary.BigEndian.Uint64(payload), payload[OffsetSize:], nil
}

// AppendAck appends an Ack frame to dst.
func AppendAck(dst []byte, offset uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendHeader(dst, TypeAck, OffsetSize), offset)
}

// ParseAck returns the offset of an Ack frame.
func ParseAck(payload []byte) (uint64, error) {
	if len(payload) != OffsetSize {
		return 0, fmt.Errorf("ack frame of %d bytes, want %d", len(payload), OffsetSize)
	}
	return binary.BigEndian.Uint64(payload), nil
}

// ParseControl decodes a JSON payload into v.
func ParseControl(t Type, payload []byte, v any) error {
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("frame type %d: %w", t, err)
	}
	return nil
}
