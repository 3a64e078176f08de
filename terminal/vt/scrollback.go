package vt

const (
	minChunk = 4 << 10
	maxChunk = 64 << 10
	// lineOverhead is what a line costs beside its bytes: its entry in
	// chunk.ends, and its share of what chunks leave unused.
	lineOverhead = 8
)

// scrollback holds the lines that left the main screen, the oldest first, as
// encoded text. It drops the oldest lines to stay within its budget.
type scrollback struct {
	budget int
	used   int
	lines  int
	chunks []*chunk
	spare  *chunk
}

// chunk holds lines one after the other; line i ends at ends[i]. The lines
// before first were dropped.
type chunk struct {
	buf   []byte
	ends  []uint32
	first int
}

func (c *chunk) line(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.buf[start:c.ends[i]]
}

func (s *scrollback) clear() {
	*s = scrollback{budget: s.budget}
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
	if len(s.chunks) > 0 {
		c := s.chunks[len(s.chunks)-1]
		if len(c.buf)+n <= cap(c.buf) {
			return c
		}
	}
	size := minChunk << min(len(s.chunks), 4)
	c := s.spare
	s.spare = nil
	if c == nil || cap(c.buf) < n {
		c = &chunk{buf: make([]byte, 0, max(min(size, maxChunk), n))}
	}
	s.chunks = append(s.chunks, c)
	return c
}

func (s *scrollback) dropOldest() {
	c := s.chunks[0]
	s.used -= len(c.line(c.first)) + lineOverhead
	s.lines--
	c.first++
	if c.first < len(c.ends) {
		return
	}
	copy(s.chunks, s.chunks[1:])
	s.chunks[len(s.chunks)-1] = nil
	s.chunks = s.chunks[:len(s.chunks)-1]
	c.buf, c.ends, c.first = c.buf[:0], c.ends[:0], 0
	if cap(c.buf) == maxChunk {
		s.spare = c
	}
}

// newest returns the newest line, which must exist.
func (s *scrollback) newest() []byte {
	c := s.chunks[len(s.chunks)-1]
	return c.line(len(c.ends) - 1)
}

// dropNewest removes the newest line, which must exist.
func (s *scrollback) dropNewest() {
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

// each calls f with the newest n lines, oldest first.
func (s *scrollback) each(n int, f func(line []byte)) {
	skip := s.lines - n
	for _, c := range s.chunks {
		kept := len(c.ends) - c.first
		if skip >= kept {
			skip -= kept
			continue
		}
		for i := c.first + max(skip, 0); i < len(c.ends); i++ {
			f(c.line(i))
		}
		skip = 0
	}
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
