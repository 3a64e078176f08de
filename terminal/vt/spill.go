package vt

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// Spill is storage for the older lines of a Terminal's scrollback, instead of
// memory. One Terminal uses it alone. The Terminal writes a small multiple of
// Options.ScrollbackBytes at most, with holes.
//
// Lines that cannot be written stay in memory. Lines that do not read back as
// they were written are dropped, with all older ones.
type Spill interface {
	io.ReaderAt
	io.WriterAt
}

// spillStore keeps chunks of a scrollback, and of its copies, in a Spill. Each
// chunk has a slot of its own: the bytes of the lines, and then where each
// line ends.
type spillStore struct {
	storage Spill
	used    []bool // by slot
	raw     []byte // for encoding and reading ends, for a moment
}

const (
	slotBytes = maxChunk + 4*maxChunkLines
	endsAt    = maxChunk
)

// spillRecord is where in the Spill a chunk is, and how to check it.
type spillRecord struct {
	slot         int
	size, lines  int    // of all of it
	crc, endsCRC uint32 // of what was written
}

// writeChunk writes the lines of a chunk. It reports false where that fails;
// the lines stay in memory then.
func (s *spillStore) writeChunk(c *chunk) bool {
	if s == nil || len(c.buf) > maxChunk || len(c.ends) > maxChunkLines {
		return false
	}
	p := spillRecord{slot: s.freeSlot(), size: len(c.buf), lines: len(c.ends), crc: crc32.ChecksumIEEE(c.buf)}
	s.raw = s.raw[:0]
	for _, end := range c.ends {
		s.raw = binary.LittleEndian.AppendUint32(s.raw, end)
	}
	p.endsCRC = crc32.ChecksumIEEE(s.raw)
	at := int64(p.slot) * slotBytes
	if _, err := s.storage.WriteAt(c.buf, at); err != nil {
		return false
	}
	if _, err := s.storage.WriteAt(s.raw, at+endsAt); err != nil {
		return false
	}
	s.used[p.slot] = true
	c.record = p
	c.spilled = &c.record // no allocation for each
	return true
}

// freeSlot is the first slot without a chunk.
func (s *spillStore) freeSlot() int {
	for i, used := range s.used {
		if !used {
			return i
		}
	}
	s.used = append(s.used, false)
	return len(s.used) - 1
}

// release frees the slot of a chunk.
func (s *spillStore) release(c *chunk) {
	if c.spilled != nil {
		s.used[c.spilled.slot] = false
		c.spilled = nil
	}
}

// readEnds appends to dst where the lines of a chunk end. It reports false
// where that is not what was written.
func (s *spillStore) readEnds(p *spillRecord, dst []uint32) ([]uint32, bool) {
	if n := 4 * p.lines; cap(s.raw) < n {
		s.raw = make([]byte, n)
	} else {
		s.raw = s.raw[:n]
	}
	if !s.readChecked(s.raw, int64(p.slot)*slotBytes+endsAt, p.endsCRC) {
		return dst, false
	}
	for i := 0; i < len(s.raw); i += 4 {
		dst = append(dst, binary.LittleEndian.Uint32(s.raw[i:]))
	}
	return dst, true
}

// readChunk reads the lines of a chunk into another and replaces what that
// holds.
func (s *spillStore) readChunk(p *spillRecord, into *chunk) (ok bool) {
	if cap(into.buf) < p.size {
		into.buf = make([]byte, maxChunk)
	}
	into.buf = into.buf[:p.size]
	into.ends, ok = s.readEnds(p, into.ends[:0])
	return ok && s.readChecked(into.buf, int64(p.slot)*slotBytes, p.crc)
}

// readChecked fills dst from offset at. It reports false where the checksum
// differs.
func (s *spillStore) readChecked(dst []byte, at int64, sum uint32) bool {
	n, _ := s.storage.ReadAt(dst, at)
	return n == len(dst) && crc32.ChecksumIEEE(dst) == sum
}
