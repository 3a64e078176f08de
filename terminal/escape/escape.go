package escape

import "bytes"

// MaxSequence is how many bytes of a control sequence are passed on at once. A
// longer one is data such as a picture, and no query.
const MaxSequence = 4 << 10

const (
	esc = 0x1b
	can = 0x18
	sub = 0x1a
	bel = 0x07
	del = 0x7f
)

// Splitter separates text from control sequences (ECMA-48, and xterm's
// strings), however the output is split into calls. Set both functions before
// the first Write.
type Splitter struct {
	// Text gets the bytes outside sequences, including C0 controls and DEL, which
	// may have been within one. They are valid during the call.
	Text func(p []byte)
	// Sequence gets a complete sequence from ESC to its last byte. A sequence
	// longer than MaxSequence comes in pieces, with whole false. The bytes are valid
	// during the call.
	Sequence func(p []byte, whole bool)

	state   splitState
	held    []byte // the sequence so far
	tooLong bool   // a piece of it was passed on
}

type splitState int

const (
	inText      splitState = iota
	inEscape               // after ESC and intermediates
	inCSI                  // after ESC [
	inString               // after ESC P ] X ^ _
	inStringESC            // after ESC in a string
)

// Write takes output.
func (s *Splitter) Write(p []byte) {
	for len(p) > 0 {
		if s.state == inText {
			at := bytes.IndexByte(p, esc)
			if at < 0 {
				s.Text(p)
				return
			}
			if at > 0 {
				s.Text(p[:at])
			}
			p = p[at:]
			s.begin()
		} else {
			s.step(p[0])
		}
		p = p[1:]
	}
}

// InText reports whether the output so far ends outside of a sequence.
func (s *Splitter) InText() bool { return s.state == inText }

// Flush passes on an incomplete sequence. What follows is treated as text.
func (s *Splitter) Flush() {
	if len(s.held) > 0 {
		s.Sequence(s.held, false)
	}
	s.reset()
}

func (s *Splitter) reset() {
	s.state, s.held, s.tooLong = inText, s.held[:0], false
}

func (s *Splitter) begin() {
	s.state, s.held, s.tooLong = inEscape, append(s.held[:0], esc), false
}

// step takes one byte of a sequence.
func (s *Splitter) step(b byte) {
	switch {
	case s.state == inStringESC && b != '\\':
		// ESC ends a string. What follows is a sequence of its own.
		s.held = s.held[:len(s.held)-1]
		s.end()
		s.begin()
		s.step(b)
		return
	case b == esc && s.state == inString:
		s.hold(b)
		s.state = inStringESC
		return
	case b == esc:
		s.Flush() // another sequence cut this one short
		s.begin()
		return
	case b == can || b == sub:
		s.hold(b)
		s.Flush()
		return
	}
	if (b < 0x20 || b == del) && s.state != inString && s.state != inStringESC {
		s.Text([]byte{b}) // a control inside a sequence acts at once, DEL does nothing
		return
	}
	s.hold(b)
	switch s.state {
	case inEscape:
		s.stepEscape(b)
	case inCSI:
		if b >= 0x40 && b <= 0x7e {
			s.end()
		}
	case inString:
		if b == bel {
			s.end()
		}
	case inStringESC:
		s.end()
	}
}

func (s *Splitter) stepEscape(b byte) {
	switch {
	case len(s.held) == 2 && b == '[':
		s.state = inCSI
	case len(s.held) == 2 && bytes.IndexByte([]byte("P]X^_"), b) >= 0:
		s.state = inString
	case b >= 0x30:
		s.end()
	}
}

func (s *Splitter) hold(b byte) {
	if len(s.held) == MaxSequence {
		s.Sequence(s.held, false)
		s.held, s.tooLong = s.held[:0], true
	}
	s.held = append(s.held, b)
}

func (s *Splitter) end() {
	s.Sequence(s.held, !s.tooLong)
	s.reset()
}
