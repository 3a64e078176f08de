package await

import (
	"bytes"

	"middleman/terminal/escape"
)

// maxLine is the length in bytes at which a long line is cut.
const maxLine = 64 << 10

// lines cuts terminal output into lines of text, as far as the bytes tell
// without a screen. A line ends at a line feed, at a carriage return, and where
// the cursor moves to another line. Control sequences are removed; one that
// moves along the line becomes a blank.
type lines struct {
	each  func(offset uint64, line []byte)
	split escape.Splitter
	pos   uint64 // offset after the bytes taken in
	from  uint64 // offset where the line begins
	line  []byte
}

// newLines returns a writer for a session's output, which begins at offset. It
// calls each for every line that is not blank, with the offset where that
// begins. The line is valid during the call.
func newLines(offset uint64, each func(offset uint64, line []byte)) *lines {
	l := &lines{each: each, pos: offset, from: offset}
	l.split.Text, l.split.Sequence = l.text, l.sequence
	return l
}

// Write takes output. It never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.split.Write(p)
	return len(p), nil
}

// skip continues at a later offset; the output in between is missing.
func (l *lines) skip(to uint64) {
	l.Flush()
	l.pos, l.from = to, to
}

// Flush passes on the last line, which has no end yet.
func (l *lines) Flush() {
	l.split.Flush()
	l.end()
}

func (l *lines) text(p []byte) {
	for _, b := range p {
		l.pos++
		switch {
		case b == '\n' || b == '\r' || b == '\v' || b == '\f':
			l.end()
		case b == '\b':
			l.line = l.line[:max(0, len(l.line)-1)]
		case b == '\t' || b >= 0x20 && b != 0x7f:
			l.add(b)
		}
	}
}

func (l *lines) sequence(p []byte, whole bool) {
	l.pos += uint64(len(p))
	if !whole || len(p) < 2 {
		return
	}
	final := p[len(p)-1]
	switch {
	case p[1] == '[' && bytes.IndexByte([]byte("ABEFHJdf"), final) >= 0,
		len(p) == 2 && bytes.IndexByte([]byte("DEMc78"), final) >= 0,
		p[1] == '[' && p[2] == '?' && (final == 'h' || final == 'l') && bytes.Contains(p, []byte("1049")):
		l.end()
	case p[1] == '[' && (final == 'C' || final == 'G'):
		l.add(' ')
	}
}

func (l *lines) add(b byte) {
	if len(l.line) == maxLine {
		l.end()
	}
	l.line = append(l.line, b)
}

func (l *lines) end() {
	if line := bytes.TrimSpace(l.line); len(line) > 0 {
		l.each(l.from, line)
	}
	l.line, l.from = l.line[:0], l.pos
}
