package sessions

import (
	"bytes"
	"io"
)

// tailSpare is how many bytes a tail holds beyond those that it needs.
const tailSpare = 1 << 20

// tail is a writer that holds back all but the last lines, until release. A last
// line without a line feed counts. It is in memory.
type tail struct {
	to    io.Writer
	lines uint64
	buf   []byte
	need  int // how much of buf the last cut kept
	open  bool
}

// Write never fails before release.
func (t *tail) Write(p []byte) (int, error) {
	if t.open {
		return t.to.Write(p)
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.need+tailSpare {
		t.cut()
	}
	return len(p), nil
}

// cut drops all but the last lines.
func (t *tail) cut() {
	begin := len(t.buf)
	for n := uint64(0); n < t.lines && begin > 0; n++ {
		begin = bytes.LastIndexByte(t.buf[:begin-1], '\n') + 1
	}
	t.buf = append(t.buf[:0], t.buf[begin:]...)
	t.need = len(t.buf)
}

// release writes the last lines, and from then on everything.
func (t *tail) release() error {
	t.cut()
	t.open = true
	_, err := t.to.Write(t.buf)
	t.buf = nil
	return err
}
