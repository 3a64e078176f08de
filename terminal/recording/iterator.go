package recording

import (
	"errors"
	"fmt"
	"io"
	"time"

	"middleman/terminal/journal"
)

// readSize is how much output is read at once.
const readSize = 32 << 10

type stepKind int

const (
	stepEnd stepKind = iota
	stepOutput
	stepSize
	stepGap
)

// step is one event of a session: output, a new size, a gap, or the end.
type step struct {
	kind       stepKind
	offset     uint64
	time       time.Time // zero where it is not known
	data       []byte    // of output; valid until the next step
	cols, rows uint16    // of a size, which holds from offset on
	next       uint64    // of a gap, which begins at offset: where it ends
}

// iterator returns the output from its first segment up to an offset, with
// each change of size at its place.
type iterator struct {
	dir         string
	r           *journal.Reader
	segments    []journal.Segment // the first is the one that offset is in
	marks       *journal.Marks    // of the first segment
	mark        journal.Mark      // the next of them
	hasMark     bool              // there is one
	offset, end uint64
	time        time.Time // when the bytes at offset were written
	sizedAt     time.Time // the time of the newest mark of a size that was applied
	cols        uint16    // the size that holds
	rows        uint16
	note        string // why the steps so far may be incomplete, or ""
	buf         []byte
}

// newIterator begins at the first of segments, of which there is at least one.
// key is that segment's keyframe, or zero; it includes the sizes up to its
// own.
func newIterator(dir string, segments []journal.Segment, to uint64, key journal.Keyframe) *iterator {
	w := &iterator{dir: dir, r: journal.Open(dir), segments: segments, offset: segments[0].First, end: to, buf: make([]byte, readSize)}
	w.applyKeyframe(key)
	w.openIndex()
	return w
}

// applyKeyframe takes over the size of a keyframe, so that older marks of
// sizes are skipped.
func (w *iterator) applyKeyframe(key journal.Keyframe) {
	if key.Cols > 0 {
		w.sizedAt, w.cols, w.rows = key.Sized, key.Cols, key.Rows
	}
}

func (w *iterator) close() {
	w.r.Close()
	w.marks.Close()
}

// openIndex opens the index of the first segment.
func (w *iterator) openIndex() {
	w.marks = journal.OpenMarks(w.dir, w.segments[0].First)
	w.mark, w.hasMark = w.marks.Next()
	if !w.hasMark && w.note == "" {
		w.note = fmt.Sprintf("changes of size from offset %d on are not known", w.segments[0].First)
	}
}

// nextStep returns the next step. An error is the journal's: output was
// trimmed meanwhile, or cannot be read.
func (w *iterator) nextStep() (step, error) {
	for {
		if s, ok := w.applyMarks(); ok {
			return s, nil
		}
		if w.offset >= w.segments[0].End && len(w.segments) > 1 && w.segments[1].First <= w.end {
			if s, ok := w.nextSegment(); ok {
				return s, nil
			}
			continue
		}
		if w.offset >= min(w.segments[0].End, w.end) {
			return step{kind: stepEnd, offset: w.offset, time: w.time}, nil
		}
		return w.readOutput()
	}
}

// applyMarks consumes the marks up to the present offset. It returns the first
// that changes the size.
func (w *iterator) applyMarks() (step, bool) {
	for w.hasMark && w.mark.Offset <= w.offset {
		m := w.mark
		w.mark, w.hasMark = w.marks.Next()
		w.time = m.Time
		if m.Kind == journal.MarkOutput || !m.Time.After(w.sizedAt) {
			continue
		}
		w.sizedAt = m.Time
		if m.Cols == w.cols && m.Rows == w.rows {
			continue
		}
		w.cols, w.rows = m.Cols, m.Rows
		return step{kind: stepSize, offset: w.offset, time: w.time, cols: m.Cols, rows: m.Rows}, true
	}
	return step{}, false
}

// nextSegment goes on to the next segment. It reports whether there is a gap
// before it, and returns that.
func (w *iterator) nextSegment() (step, bool) {
	from := w.offset
	w.segments = w.segments[1:]
	w.marks.Close()
	w.openIndex()
	w.offset = w.segments[0].First
	if w.hasMark {
		w.time = w.mark.Time
	}
	return step{kind: stepGap, offset: from, time: w.time, next: w.offset}, w.offset > from
}

// readOutput reads output, up to the next mark at most.
func (w *iterator) readOutput() (step, error) {
	limit := min(w.segments[0].End, w.end)
	if w.hasMark {
		limit = min(limit, w.mark.Offset)
	}
	n, err := w.r.ReadAt(w.buf[:min(uint64(len(w.buf)), limit-w.offset)], w.offset)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the segment has become shorter
	}
	if err != nil {
		return step{}, fmt.Errorf("read output at offset %d: %w", w.offset, err)
	}
	s := step{kind: stepOutput, offset: w.offset, time: w.time, data: w.buf[:n]}
	w.offset += uint64(n)
	return s, nil
}

// skipIfTrimmed reports whether err says that the segment was trimmed before
// it was read. It then goes on after that segment.
func (w *iterator) skipIfTrimmed(err error) bool {
	_, gone := errors.AsType[*journal.GapError](err)
	if gone {
		w.offset = w.segments[0].End // the next step goes on behind it
	}
	return gone
}
