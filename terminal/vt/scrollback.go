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
	budget int
	used   int
	lines  int
	chunks []*chunk
	spare  *chunk   // to be used again
	spill  *spilled // nil without one
	look   *chunk   // room to read a chunk of the spill, nil while it is in use
	oldest []uint32 // room for the ends of the first chunk
}

// chunk holds lines one after the other; line i ends at ends[i]. The lines
// before first, with so many bytes, were dropped.
type chunk struct {
	buf   []byte
	ends  []uint32
	first int
	gone  int
	// parked says that the lines are in the spill. Then there is no buf, and
	// ends while lines of it are dropped.
	parked *parked
	place  parked // what parked points to
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

// kept are the lines that were not dropped, and their bytes.
func (c *chunk) kept() (lines, size int) {
	if c.parked != nil {
		return c.parked.lines - c.first, c.parked.size - c.gone
	}
	return len(c.ends) - c.first, len(c.buf) - c.gone
}

func (s *scrollback) clear() {
	for _, c := range s.chunks {
		s.spill.drop(c)
	}
	s.renew()
}

// renew is clear of a scrollback of which there is a copy, which keeps what is
// in the spill.
func (s *scrollback) renew() {
	*s = scrollback{budget: s.budget, spill: s.spill}
}

// add keeps a line as the newest. It copies it.
func (s *scrollback) add(line []byte) {
	size := len(line) + lineOverhead
	if size > s.budget {
		if s.budget > 0 {
			s.clear() // never a gap: what is older than a lost line goes too
		}
		return
	}
	c := s.room(len(line))
	c.buf = append(c.buf, line...)
	c.ends = append(c.ends, uint32(len(c.buf)))
	s.lines++
	s.used += size
	for s.used > s.budget {
		s.dropOldest()
	}
}

// room returns the newest chunk if n bytes fit in it, else a new one.
func (s *scrollback) room(n int) *chunk {
	var full *chunk
	if last := len(s.chunks) - 1; last >= 0 && s.chunks[last].parked == nil {
		full = s.chunks[last]
		if len(full.buf)+n <= cap(full.buf) && len(full.ends) < maxChunkLines {
			return full
		}
	}
	c := s.spare
	s.spare = nil
	if c == nil {
		c = new(chunk)
	}
	if full != nil && s.spill.put(full) {
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
	if c.parked != nil && c.ends == nil {
		ends, ok := s.spill.ends(c.parked, s.oldest[:0])
		if !ok {
			s.forget(c)
			return
		}
		c.ends, s.oldest = ends, nil
	}
	start, end := c.span(c.first)
	c.first++
	c.gone += int(end - start)
	s.used -= int(end-start) + lineOverhead
	s.lines--
	if c.first < len(c.ends) {
		return
	}
	copy(s.chunks, s.chunks[1:])
	s.chunks[len(s.chunks)-1] = nil
	s.chunks = s.chunks[:len(s.chunks)-1]
	if c.parked != nil {
		s.spill.drop(c)
		s.oldest, c.ends = c.ends, nil
	}
	c.buf, c.ends, c.first, c.gone = c.buf[:0], c.ends[:0], 0, 0
	if cap(c.buf) == maxChunk || s.spill != nil {
		s.spare = c
	}
}

// forget drops the lines of a chunk that cannot be read, and all older ones.
func (s *scrollback) forget(lost *chunk) {
	i := slices.Index(s.chunks, lost)
	for _, c := range s.chunks[:i+1] {
		lines, size := c.kept()
		s.lines -= lines
		s.used -= size + lines*lineOverhead
		s.spill.drop(c)
	}
	s.chunks = s.chunks[i+1:]
}

// newest returns the newest line, which must exist. One that cannot be read
// any more is blank.
func (s *scrollback) newest() []byte {
	c := s.chunks[len(s.chunks)-1]
	if c.parked != nil && !s.bringBack(c) {
		return []byte{0}
	}
	return c.line(len(c.ends) - 1)
}

// bringBack reads a chunk of the spill into memory.
func (s *scrollback) bringBack(c *chunk) bool {
	back := &chunk{}
	if !s.spill.get(c.parked, back) {
		s.forget(c)
		return false
	}
	s.spill.drop(c)
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
	if n == c.first {
		s.chunks = s.chunks[:len(s.chunks)-1]
	}
}

// each calls f with the newest n lines, oldest first. A line is valid during
// the call.
func (s *scrollback) each(n int, f func(line []byte)) {
	s.verify(n)
	skip := s.lines - n
	for _, c := range s.chunks {
		kept, _ := c.kept()
		if skip >= kept {
			skip -= kept
			continue
		}
		s.visit(c, max(skip, 0), f)
		skip = 0
	}
}

// verify forgets what cannot be read any more of the newest n lines, so that
// each passes no gap on.
func (s *scrollback) verify(n int) {
	if s.spill == nil {
		return
	}
	for i := len(s.chunks) - 1; i >= 0 && n > 0; i-- {
		c := s.chunks[i]
		lines, _ := c.kept()
		n -= lines
		if c.parked == nil {
			continue
		}
		if !s.read(c, func(*chunk) {}) {
			return
		}
	}
}

// visit calls f with the lines of a chunk, but for the first that are kept.
func (s *scrollback) visit(c *chunk, skip int, f func(line []byte)) {
	lines := func(in *chunk) {
		for i := c.first + skip; i < len(in.ends); i++ {
			f(in.line(i))
		}
	}
	if c.parked == nil {
		lines(c)
		return
	}
	s.read(c, lines)
}

// read calls f with what a chunk has in the spill, or forgets it and reports
// false. f may come back here, by way of a sweep.
func (s *scrollback) read(c *chunk, f func(in *chunk)) bool {
	in := s.look
	s.look = nil
	if in == nil {
		in = new(chunk)
	}
	ok := s.spill.get(c.parked, in)
	if ok {
		f(in)
	} else {
		s.forget(c)
	}
	s.look = in
	return ok
}

// keepLine adds a row of the main screen to the scrollback.
func (t *Terminal) keepLine(r *row) {
	if t.sweepWait > 0 {
		t.sweepWait--
	}
	if t.scrollback.budget == 0 {
		return
	}
	t.lineBuf = t.encodeLine(t.lineBuf[:0], r)
	t.scrollback.add(t.lineBuf)
}
