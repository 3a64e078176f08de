package recording

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// Options says what the journal does not.
type Options struct {
	// Size is the terminal's first, for output whose index tells none.
	Size terminal.Size
	// Started is when the session was, for output whose index tells no times.
	Started time.Time
	// ScrollbackBytes bounds a screen's scrollback; 0 is vt's default.
	ScrollbackBytes int
	// Head is the number of output bytes, where that is known to be higher than
	// what is on disk: the last bytes did not fit on a full disk.
	Head uint64
}

// Recording is what is kept of one session. Its methods are safe for
// concurrent use.
type Recording struct {
	dir string
	o   Options
}

// Open returns the recording of the journal in dir; it does no I/O.
func Open(dir string, o Options) *Recording {
	if o.Size.Cols == 0 || o.Size.Rows == 0 {
		o.Size = terminal.DefaultSize
	}
	return &Recording{dir: dir, o: o}
}

// Screen is what the terminal showed as of an offset, after every change of
// size up to there.
type Screen struct {
	Terminal *vt.Terminal
	Offset   uint64
	// Note says why it may differ from what was shown; "" where it does not.
	Note string
}

// segments lists what is kept, and the head.
func (r *Recording) segments() (list []journal.Segment, head uint64, err error) {
	list, err = journal.Open(r.dir).Segments()
	list = slices.DeleteFunc(list, func(s journal.Segment) bool { return s.First == s.End })
	if n := len(list); n > 0 {
		head = list[n-1].End
	}
	return list, max(head, r.o.Head), err
}

// segmentIndex returns the index of the last segment that begins at or before
// off, or -1.
func segmentIndex(segments []journal.Segment, off uint64) int {
	i, found := slices.BinarySearchFunc(segments, off, func(s journal.Segment, off uint64) int {
		return cmp.Compare(s.First, off)
	})
	if !found {
		i--
	}
	return i
}

// maxAttempts is how often At begins again because a segment was trimmed while
// it was read.
const maxAttempts = 5

// At draws the screen as of an offset. One that is no longer kept is a
// *terminal.TrimmedError, one that was never kept a *journal.GapError, one
// beyond the head terminal.ErrRange.
func (r *Recording) At(offset uint64) (Screen, error) {
	for n := 1; ; n++ {
		segments, head, err := r.segments()
		if err == nil {
			err = checkOffset(segments, head, offset)
		}
		if err != nil {
			return Screen{}, err
		}
		s, err := r.draw(segments, offset)
		if _, trimmed := errors.AsType[*journal.GapError](err); !trimmed || n == maxAttempts {
			return s, err
		}
	}
}

// checkOffset returns an error where the output before offset is not on disk.
func checkOffset(segments []journal.Segment, head, offset uint64) error {
	if offset > head {
		return fmt.Errorf("there are %d bytes of output, but offset %d was asked for: %w", head, offset, terminal.ErrRange)
	}
	i := segmentIndex(segments, offset)
	if i < 0 {
		if len(segments) == 0 && offset == 0 {
			return nil
		}
		if len(segments) > 0 && segments[0].First > 0 {
			return &terminal.TrimmedError{Offset: offset, Oldest: segments[0].First}
		}
		return &journal.GapError{Offset: 0, Next: head}
	}
	if end := segments[i].End; offset > end {
		next := head
		if i+1 < len(segments) {
			next = segments[i+1].First
		}
		return &journal.GapError{Offset: end, Next: next}
	}
	return nil
}

// draw draws from the newest keyframe at or before offset.
func (r *Recording) draw(segments []journal.Segment, offset uint64) (Screen, error) {
	i, key, note := r.keyframeBefore(segments, offset)
	t := vt.New(vt.Options{
		Cols: int(cmp.Or(key.Cols, r.o.Size.Cols)), Rows: int(cmp.Or(key.Rows, r.o.Size.Rows)),
		ScrollbackBytes: r.o.ScrollbackBytes,
	})
	t.Write(key.Data)
	s := Screen{Terminal: t, Offset: offset, Note: note}
	if len(segments) == 0 {
		return s, nil
	}
	w := newIterator(r.dir, segments[i:], offset, key)
	defer w.close()
	for {
		step, err := w.nextStep()
		if err != nil || step.kind == stepEnd {
			s.Note = cmp.Or(s.Note, w.note)
			return s, err
		}
		switch step.kind {
		case stepOutput:
			t.Write(step.data)
		case stepSize:
			t.Resize(int(step.cols), int(step.rows))
		case stepGap:
			s.Note = cmp.Or(s.Note, fmt.Sprintf("drawn without the output from offset %d to %d, which was not kept", step.offset, step.next))
		}
	}
}

// keyframeBefore returns the newest keyframe at or before offset and the index
// of its segment. Without one it returns 0 and a zero keyframe; note then says
// what the screen lacks.
func (r *Recording) keyframeBefore(segments []journal.Segment, offset uint64) (i int, key journal.Keyframe, note string) {
	for i = segmentIndex(segments, offset); i > 0 || i == 0 && segments[0].First > 0; i-- {
		key, err := journal.ReadKeyframe(r.dir, segments[i].First)
		if err == nil {
			return i, key, ""
		}
	}
	i = 0
	if len(segments) > 0 && segments[0].First > 0 {
		note = fmt.Sprintf("drawn from offset %d on: no older output is kept", segments[0].First)
	}
	return i, key, note
}

// ErrNoTimes: no index tells when the output was written.
var ErrNoTimes = fmt.Errorf("the times of the output were not recorded: give an offset instead: %w", errors.ErrUnsupported)

// OffsetAt returns the offset that the output had reached at t, to about 10
// ms. Before the first byte of a session it is 0; before the oldest kept one
// it is a *terminal.TrimmedError.
func (r *Recording) OffsetAt(t time.Time) (uint64, error) {
	segments, head, err := r.segments()
	if err != nil {
		return 0, err
	}
	// A segment without an index counts as the next that has one.
	any := false
	after := sort.Search(len(segments), func(i int) bool {
		began, ok := r.firstTime(segments[i:])
		any = any || ok
		return !ok || began.After(t)
	})
	switch {
	case !any && len(segments) > 0:
		return 0, ErrNoTimes
	case len(segments) == 0:
		return head, nil
	case after == 0 && segments[0].First > 0:
		return 0, fmt.Errorf("at %s: %w", t.Local().Format(time.DateTime), &terminal.TrimmedError{Offset: 0, Oldest: segments[0].First})
	case after == 0:
		return 0, nil
	}
	return r.offsetInSegment(segments[after-1], t), nil
}

// firstTime is when the first of the segments with an index began.
func (r *Recording) firstTime(segments []journal.Segment) (time.Time, bool) {
	for _, s := range segments {
		marks := journal.OpenMarks(r.dir, s.First)
		m, ok := marks.Next()
		marks.Close()
		if ok {
			return m.Time, true
		}
	}
	return time.Time{}, false
}

// offsetInSegment is the offset within a segment at time t.
func (r *Recording) offsetInSegment(s journal.Segment, t time.Time) uint64 {
	marks := journal.OpenMarks(r.dir, s.First)
	defer marks.Close()
	for {
		m, ok := marks.Next()
		if !ok {
			return s.End
		}
		if m.Kind == journal.MarkOutput && m.Time.After(t) {
			return m.Offset
		}
	}
}
