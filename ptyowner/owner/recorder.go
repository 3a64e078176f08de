package owner

import (
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// keyframeScrollback is how many lines of scrollback a keyframe holds: as many
// as a screen can grow by, since a resize pulls lines back from the scrollback.
const keyframeScrollback = 1000

// recorder writes keyframes, so that the screen at any kept offset can be drawn
// again by reading one segment. screen.run stops at each segment's first offset
// and writes a keyframe there. Only the goroutine that feeds the screen uses
// it.
type recorder struct {
	next  uint64       // segments that begin before it need no keyframe
	sized journal.Mark // the last size that the screen has applied
}

// stop returns limit, or an offset before it at which a keyframe is due. The
// screen must have been fed up to its offset; if a keyframe is due there, stop
// writes it. The first segment needs none, as the screen was blank.
func (r *recorder) stop(s *screen, limit uint64) uint64 {
	r.next = max(r.next, 1, s.offset)
	first, ok := s.owner.journal.SegmentFrom(r.next)
	if !ok {
		return limit
	}
	if first == s.offset {
		r.keyframe(s)
		r.next = first + 1
		return r.stop(s, limit)
	}
	return min(limit, first)
}

// keyframe writes a keyframe of the screen. If that fails, drawing the screen
// later takes longer, because it starts from the keyframe before.
func (r *recorder) keyframe(s *screen) {
	k := journal.Keyframe{Offset: s.offset, Sized: r.sized.Time}
	s.mu.Lock()
	cols, rows := s.vt.Size()
	k.Cols, k.Rows = uint16(cols), uint16(rows)
	room := newRoom()
	defer room.free()
	k.Data = s.vt.AppendSnapshot(room[:0], vt.SnapshotOptions{Scrollback: keyframeScrollback})
	s.mu.Unlock()
	if err := s.owner.journal.PutKeyframe(k); err != nil {
		logf("record session %s: %v", s.owner.spec.ID, err)
	}
}
