//go:build unix

package owner

import (
	"golang.org/x/sys/unix"

	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// keyframeScrollback is how many lines of scrollback a keyframe holds: as many
// as a screen can grow by, so that a resize finds what it pulls back.
const keyframeScrollback = 1000

// recorder makes the screen of any kept offset something that can be drawn
// again by reading one segment: the screen's tailer stops at each segment's
// first offset and leaves a keyframe there. It is the screen's alone.
type recorder struct {
	next  uint64       // no segment that begins before it needs a keyframe
	sized journal.Mark // the last size that the screen has taken in
}

// stop returns limit, or the offset before it at which a keyframe is due. The
// screen has been fed up to offset; one that is due there is written. The
// first segment needs none: the screen was blank.
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

// keyframe writes what the screen shows. One that cannot be written costs
// time: the one before it is drawn from.
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

// room is memory to draw a snapshot in. It is not the runtime's, which would
// have garbage to collect for each, and holds on to what it needs to do that.
type room []byte

// roomBytes is more than most snapshots take; one that is larger grows out of
// it. What is not touched takes nothing.
const roomBytes = 4 << 20

// newRoom is empty where the system has none.
func newRoom() room {
	p, err := unix.Mmap(-1, 0, roomBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return p
}

// free gives it back. Nothing of it may be used any more.
func (r room) free() {
	if r != nil {
		_ = unix.Munmap(r) // what newRoom got, once
	}
}
