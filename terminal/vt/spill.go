package vt

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// Spill is where a Terminal keeps its scrollback, but for the newest lines,
// instead of in memory. It is the Terminal's alone. At most a small multiple of
// Options.ScrollbackBytes is written to it, with holes.
//
// What cannot be written stays in memory. What does not come back as it was
// written is dropped, with all lines that are older.
type Spill interface {
	io.ReaderAt
	io.WriterAt
}

// spilled is what the chunks of a scrollback, and of its copies, have in a
// Spill. Each has a slot of its own: the bytes of the lines, and then where
// each of them ends.
type spilled struct {
	to   Spill
	used []bool // by slot
	raw  []byte // for encoding and reading ends, for a moment
}

const (
	slotBytes = maxChunk + 4*maxChunkLines
	endsAt    = maxChunk
)

// parked is where in a Spill a chunk is.
type parked struct {
	slot           int
	size, lines    int    // of all of it
	sum, sumOfEnds uint32 // of what was written
}

// put writes the lines of a chunk. It reports false where they cannot be, and
// stay in memory.
func (s *spilled) put(c *chunk) bool {
	if s == nil || len(c.buf) > maxChunk || len(c.ends) > maxChunkLines {
		return false
	}
	p := parked{slot: s.free(), size: len(c.buf), lines: len(c.ends), sum: crc32.ChecksumIEEE(c.buf)}
	s.raw = s.raw[:0]
	for _, end := range c.ends {
		s.raw = binary.LittleEndian.AppendUint32(s.raw, end)
	}
	p.sumOfEnds = crc32.ChecksumIEEE(s.raw)
	at := int64(p.slot) * slotBytes
	if _, err := s.to.WriteAt(c.buf, at); err != nil {
		return false
	}
	if _, err := s.to.WriteAt(s.raw, at+endsAt); err != nil {
		return false
	}
	s.used[p.slot] = true
	c.place = p
	c.parked = &c.place // no allocation for each
	return true
}

// free is the first slot that no chunk has.
func (s *spilled) free() int {
	for i, used := range s.used {
		if !used {
			return i
		}
	}
	s.used = append(s.used, false)
	return len(s.used) - 1
}

// drop says that nobody needs what a chunk has there.
func (s *spilled) drop(c *chunk) {
	if c.parked != nil {
		s.used[c.parked.slot] = false
		c.parked = nil
	}
}

// ends reads where the lines of a chunk end, into dst. It reports false where
// they are not what was written.
func (s *spilled) ends(p *parked, dst []uint32) ([]uint32, bool) {
	if n := 4 * p.lines; cap(s.raw) < n {
		s.raw = make([]byte, n)
	} else {
		s.raw = s.raw[:n]
	}
	if !s.read(s.raw, int64(p.slot)*slotBytes+endsAt, p.sumOfEnds) {
		return dst, false
	}
	for i := 0; i < len(s.raw); i += 4 {
		dst = append(dst, binary.LittleEndian.Uint32(s.raw[i:]))
	}
	return dst, true
}

// get reads the lines of a chunk into another, over what that holds.
func (s *spilled) get(p *parked, into *chunk) (ok bool) {
	if cap(into.buf) < p.size {
		into.buf = make([]byte, maxChunk)
	}
	into.buf = into.buf[:p.size]
	into.ends, ok = s.ends(p, into.ends[:0])
	return ok && s.read(into.buf, int64(p.slot)*slotBytes, p.sum)
}

func (s *spilled) read(dst []byte, at int64, sum uint32) bool {
	n, _ := s.to.ReadAt(dst, at)
	return n == len(dst) && crc32.ChecksumIEEE(dst) == sum
}
