package runtime

import (
	"encoding/binary"
	"io"
)

// whole writes each frame of yamux at once. yamux writes the header and the body one
// after the other, so the other end would wake up twice for a key that was typed.
// Only one goroutine writes, as that of yamux does.
type whole struct {
	io.ReadWriteCloser
	header [frameHeader]byte
	held   bool // header waits for its body
	frame  []byte
}

const (
	// frameHeader is the size of a header: version, type, flags, stream, length.
	frameHeader = 12
	// frameData is the type of a frame that has a body, if its length is not 0.
	frameData = 0
	// maxWhole bounds the body of a frame that is copied to be written at once.
	maxWhole = 64 << 10
)

func (w *whole) Write(p []byte) (int, error) {
	if !w.held && len(p) == frameHeader && p[1] == frameData && binary.BigEndian.Uint32(p[8:]) > 0 {
		w.held = true
		return copy(w.header[:], p), nil
	}
	if !w.held {
		return w.ReadWriteCloser.Write(p)
	}
	w.held = false
	if len(p) > maxWhole {
		if _, err := w.ReadWriteCloser.Write(w.header[:]); err != nil {
			return 0, err
		}
		return w.ReadWriteCloser.Write(p)
	}
	w.frame = append(append(w.frame[:0], w.header[:]...), p...)
	n, err := w.ReadWriteCloser.Write(w.frame)
	return max(0, n-frameHeader), err
}
