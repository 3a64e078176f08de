package recording

import (
	"errors"
	"fmt"
	"io"
	"time"

	"middleman/terminal/journal"
)

// walkBytes is how much output is read at once.
const walkBytes = 32 << 10

type stepKind int

const (
	stepEnd stepKind = iota
	stepOutput
	stepSize
	stepGap
)

// step is the next thing that happened.
type step struct {
	kind       stepKind
	offset     uint64
	time       time.Time // zero where it is not known
	data       []byte    // of output; valid until the next step
	cols, rows uint16    // of a size, which holds from offset on
	next       uint64    // of a gap, which begins at offset: where it ends
}

// walk goes through the output from the first of its segments on up to an
// offset, with the changes of size where they were.
type walk struct {
	dir      string
	r        *journal.Reader
	segments []journal.Segment // the first is the one that off is in
	marks    *journal.Marks    // of the first segment
	mark     journal.Mark      // the next of them
	marked   bool              // there is one
	off, to  uint64
	time     time.Time // when the bytes at off came
	sized    time.Time // sizes up to this mark are taken in
	cols     uint16    // the size that holds
	rows     uint16
	note     string // what is not told of the output so far
	buf      []byte
}

// newWalk begins at the first segment, which must be there, with what its
// keyframe, if any, has taken in.
func newWalk(dir string, segments []journal.Segment, to uint64, key journal.Keyframe) *walk {
	w := &walk{dir: dir, r: journal.Open(dir), segments: segments, off: segments[0].First, to: to, buf: make([]byte, walkBytes)}
	w.follow(key)
	w.open()
	return w
}

// follow goes on from a keyframe's screen.
func (w *walk) follow(key journal.Keyframe) {
	if key.Cols > 0 {
		w.sized, w.cols, w.rows = key.Sized, key.Cols, key.Rows
	}
}

func (w *walk) close() {
	w.r.Close()
	w.marks.Close()
}

// open opens the index of the first segment.
func (w *walk) open() {
	w.marks = journal.OpenMarks(w.dir, w.segments[0].First)
	w.mark, w.marked = w.marks.Next()
	if !w.marked && w.note == "" {
		w.note = fmt.Sprintf("changes of size from offset %d on are not known", w.segments[0].First)
	}
}

// step returns what comes next. An error is of the journal, and then output
// may be trimmed or damaged.
func (w *walk) step() (step, error) {
	for {
		if s, ok := w.passMark(); ok {
			return s, nil
		}
		if w.off >= w.segments[0].End && len(w.segments) > 1 && w.segments[1].First <= w.to {
			if s, ok := w.nextSegment(); ok {
				return s, nil
			}
			continue
		}
		if w.off >= min(w.segments[0].End, w.to) {
			return step{kind: stepEnd, offset: w.off, time: w.time}, nil
		}
		return w.output()
	}
}

// passMark takes in the marks up to here and returns the first that changes
// the size.
func (w *walk) passMark() (step, bool) {
	for w.marked && w.mark.Offset <= w.off {
		m := w.mark
		w.mark, w.marked = w.marks.Next()
		w.time = m.Time
		if m.Kind == journal.MarkOutput || !m.Time.After(w.sized) {
			continue
		}
		w.sized = m.Time
		if m.Cols == w.cols && m.Rows == w.rows {
			continue
		}
		w.cols, w.rows = m.Cols, m.Rows
		return step{kind: stepSize, offset: w.off, time: w.time, cols: m.Cols, rows: m.Rows}, true
	}
	return step{}, false
}

// nextSegment goes to the next segment, and returns the gap before it.
func (w *walk) nextSegment() (step, bool) {
	from := w.off
	w.segments = w.segments[1:]
	w.marks.Close()
	w.open()
	w.off = w.segments[0].First
	if w.marked {
		w.time = w.mark.Time
	}
	return step{kind: stepGap, offset: from, time: w.time, next: w.off}, w.off > from
}

// output reads up to the next mark.
func (w *walk) output() (step, error) {
	limit := min(w.segments[0].End, w.to)
	if w.marked {
		limit = min(limit, w.mark.Offset)
	}
	n, err := w.r.ReadAt(w.buf[:min(uint64(len(w.buf)), limit-w.off)], w.off)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the segment has become shorter
	}
	if err != nil {
		return step{}, fmt.Errorf("read output at offset %d: %w", w.off, err)
	}
	s := step{kind: stepOutput, offset: w.off, time: w.time, data: w.buf[:n]}
	w.off += uint64(n)
	return s, nil
}

// skipTrimmed goes on where err says that the segment was trimmed while it
// was waiting to be read.
func (w *walk) skipTrimmed(err error) bool {
	_, gone := errors.AsType[*journal.GapError](err)
	if gone {
		w.off = w.segments[0].End // the next step goes on behind it
	}
	return gone
}
