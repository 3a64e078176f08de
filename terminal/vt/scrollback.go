package vt

import "slices"

const (
	minChunk = 4 << 10
	maxChunk = 64 << 10
	// lineOverhead is what a line costs beside its bytes: its entry in
	// chunk.ends, and its share of what chunks leave unused.
	lineOverhead = 8
	// maxChunkLines bounds what a chunk of short lines has beside their bytes.
	maxChunkLines = 16 << 10
)

// scrollback holds the lines that left the main screen, the oldest first, as
// encoded text. It drops the oldest lines to stay within its budget. With a
// spill, only the newest chunk is in memory.
type scrollback struct {
	budget     int
	used       int
	lines      int
	chunks     []*chunk
	spareChunk *chunk      // to be used again
	spill      *spillStore // nil without one
	readBuffer *chunk      // room to read a chunk of the spill, nil while it is in use
	endsBuffer []uint32    // room for the ends of the first chunk
}

// chunk holds lines one after the other; line i ends at ends[i]. The lines
// before firstKept, of droppedBytes in all, were dropped.
type chunk struct {
	buf          []byte
	ends         []uint32
	firstKept    int
	droppedBytes int
	// spilled is set where the lines are in the spill. buf is then empty, and
	// ends is filled only while lines of the chunk are dropped.
	spilled *spillRecord
	record  spillRecord // what spilled points to
}

func (c *chunk) line(i int) []byte {
	start, end := c.span(i)
	return c.buf[start:end]
}

// span is where line i begins and ends.
func (c *chunk) span(i int) (start, end uint32) {
	if i > 0 {
		start = c.ends[i-1]
	}
	return start, c.ends[i]
}

// kept returns the number of lines that were not dropped, and their bytes.
func (c *chunk) kept() (lines, size int) {
	if c.spilled != nil {
		return c.spilled.lines - c.firstKept, c.spilled.size - c.droppedBytes
	}
	return len(c.ends) - c.firstKept, len(c.buf) - c.droppedBytes
}

func (s *scrollback) clear() {
	for _, c := range s.chunks {
		s.spill.release(c)
	}
	s.resetKeepingSpill()
}

// resetKeepingSpill empties s and releases nothing in the spill. It is for a
// scrollback of which there is a copy that still uses the spill.
func (s *scrollback) resetKeepingSpill() {
	*s = scrollback{budget: s.budget, spill: s.spill}
}

// add appends a copy of line.
func (s *scrollback) add(line []byte) {
	size := len(line) + lineOverhead
	if size > s.budget {
		if s.budget > 0 {
			s.clear() // never a gap: what is older than a lost line goes too
		}
		return
	}
	c := s.chunkFor(len(line))
	c.buf = append(c.buf, line...)
	c.ends = append(c.ends, uint32(len(c.buf)))
	s.lines++
	s.used += size
	for s.used > s.budget {
		s.dropOldest()
	}
}

// chunkFor returns the newest chunk if it has room for n bytes, else a new
// one. A full chunk goes to the spill.
func (s *scrollback) chunkFor(n int) *chunk {
	var full *chunk
	if last := len(s.chunks) - 1; last >= 0 && s.chunks[last].spilled == nil {
		full = s.chunks[last]
		if len(full.buf)+n <= cap(full.buf) && len(full.ends) < maxChunkLines {
			return full
		}
	}
	c := s.spareChunk
	s.spareChunk = nil
	if c == nil {
		c = new(chunk)
	}
	if full != nil && s.spill.writeChunk(full) {
		c.buf, c.ends = full.buf[:0], full.ends[:0]
		full.buf, full.ends = nil, nil
	}
	if size := max(min(minChunk<<min(len(s.chunks), 4), maxChunk), n); cap(c.buf) < size {
		c.buf = make([]byte, 0, size)
	}
	s.chunks = append(s.chunks, c)
	return c
}

func (s *scrollback) dropOldest() {
	c := s.chunks[0]
	if c.spilled != nil && c.ends == nil {
		ends, ok := s.spill.readEnds(c.spilled, s.endsBuffer[:0])
		if !ok {
			s.dropThrough(c)
			return
		}
		c.ends, s.endsBuffer = ends, nil
	}
	start, end := c.span(c.firstKept)
	c.firstKept++
	c.droppedBytes += int(end - start)
	s.used -= int(end-start) + lineOverhead
	s.lines--
	if c.firstKept < len(c.ends) {
		return
	}
	copy(s.chunks, s.chunks[1:])
	s.chunks[len(s.chunks)-1] = nil
	s.chunks = s.chunks[:len(s.chunks)-1]
	if c.spilled != nil {
		s.spill.release(c)
		s.endsBuffer, c.ends = c.ends, nil
	}
	c.buf, c.ends, c.firstKept, c.droppedBytes = c.buf[:0], c.ends[:0], 0, 0
	if cap(c.buf) == maxChunk || s.spill != nil {
		s.spareChunk = c
	}
}

// dropThrough drops the lines of a chunk that cannot be read, and all older
// ones, so that the scrollback has no gap.
func (s *scrollback) dropThrough(lost *chunk) {
	i := slices.Index(s.chunks, lost)
	for _, c := range s.chunks[:i+1] {
		lines, size := c.kept()
		s.lines -= lines
		s.used -= size + lines*lineOverhead
		s.spill.release(c)
	}
	s.chunks = s.chunks[i+1:]
}

// newest returns the newest line; there must be one. A line that cannot be
// read is blank.
func (s *scrollback) newest() []byte {
	c := s.chunks[len(s.chunks)-1]
	if c.spilled != nil && !s.unspill(c) {
		return []byte{0}
	}
	return c.line(len(c.ends) - 1)
}

// unspill moves a chunk from the spill back into memory. It reports false
// where the chunk cannot be read; it is dropped then.
func (s *scrollback) unspill(c *chunk) bool {
	back := &chunk{}
	if !s.spill.readChunk(c.spilled, back) {
		s.dropThrough(c)
		return false
	}
	s.spill.release(c)
	c.buf, c.ends = back.buf, back.ends
	return true
}

// dropNewest removes the line that newest returned.
func (s *scrollback) dropNewest() {
	if s.lines == 0 {
		return // it could not be read
	}
	c := s.chunks[len(s.chunks)-1]
	n := len(c.ends) - 1
	line := c.line(n)
	s.used -= len(line) + lineOverhead
	s.lines--
	c.buf = c.buf[:len(c.buf)-len(line)]
	c.ends = c.ends[:n]
	if n == c.firstKept {
		s.chunks = s.chunks[:len(s.chunks)-1]
	}
}

// each calls f with the newest n lines, oldest first. A line is valid during
// the call.
func (s *scrollback) each(n int, f func(line []byte)) {
	s.dropUnreadable(n)
	skip := s.lines - n
	for _, c := range s.chunks {
		kept, _ := c.kept()
		if skip >= kept {
			skip -= kept
			continue
		}
		s.eachInChunk(c, max(skip, 0), f)
		skip = 0
	}
}

// dropUnreadable checks the chunks of the newest n lines that are in the
// spill. It drops one that cannot be read, and all older ones, so that each
// passes on no gap.
func (s *scrollback) dropUnreadable(n int) {
	if s.spill == nil {
		return
	}
	for i := len(s.chunks) - 1; i >= 0 && n > 0; i-- {
		c := s.chunks[i]
		lines, _ := c.kept()
		n -= lines
		if c.spilled == nil {
			continue
		}
		if !s.readSpilled(c, func(*chunk) {}) {
			return
		}
	}
}

// eachInChunk calls f with the lines of a chunk, without the first skip lines.
func (s *scrollback) eachInChunk(c *chunk, skip int, f func(line []byte)) {
	lines := func(in *chunk) {
		for i := c.firstKept + skip; i < len(in.ends); i++ {
			f(in.line(i))
		}
	}
	if c.spilled == nil {
		lines(c)
		return
	}
	s.readSpilled(c, lines)
}

// readSpilled calls f with the content of a chunk in the spill. Where it
// cannot be read, readSpilled drops the chunk and reports false. f may call
// readSpilled again, by way of a sweep.
func (s *scrollback) readSpilled(c *chunk, f func(in *chunk)) bool {
	in := s.readBuffer
	s.readBuffer = nil
	if in == nil {
		in = new(chunk)
	}
	ok := s.spill.readChunk(c.spilled, in)
	if ok {
		f(in)
	} else {
		s.dropThrough(c)
	}
	s.readBuffer = in
	return ok
}

// addToScrollback appends a row of the main screen to the scrollback.
func (t *Terminal) addToScrollback(r *row) {
	if t.sweepWait > 0 {
		t.sweepWait--
	}
	if t.scrollback.budget == 0 {
		return
	}
	t.lineBuf = t.encodeLine(t.lineBuf[:0], r)
	t.scrollback.add(t.lineBuf)
}
