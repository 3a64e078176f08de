package viewer

import "bytes"

// maxSequence is how many bytes of a control sequence are kept. A longer one is
// data such as a picture, and no query.
const maxSequence = 4 << 10

const (
	esc = 0x1b
	can = 0x18
	sub = 0x1a
	bel = 0x07
)

// splitter separates text from control sequences (ECMA-48, and xterm's
// strings), however the output is split into calls.
type splitter struct {
	// text gets the bytes outside sequences, including C0 controls. They are
	// valid during the call.
	text func(p []byte)
	// sequence gets a complete sequence from ESC to its last byte. A sequence
	// longer than maxSequence comes in pieces, with whole false. The bytes are
	// valid during the call.
	sequence func(p []byte, whole bool)

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

func (s *splitter) write(p []byte) {
	for len(p) > 0 {
		if s.state == inText {
			at := bytes.IndexByte(p, esc)
			if at < 0 {
				s.text(p)
				return
			}
			if at > 0 {
				s.text(p[:at])
			}
			p = p[at:]
			s.begin()
		} else {
			s.step(p[0])
		}
		p = p[1:]
	}
}

// flush passes on an incomplete sequence. What follows is treated as text.
func (s *splitter) flush() {
	if len(s.held) > 0 {
		s.sequence(s.held, false)
	}
	s.reset()
}

func (s *splitter) reset() {
	s.state, s.held, s.tooLong = inText, s.held[:0], false
}

func (s *splitter) begin() {
	s.state, s.held, s.tooLong = inEscape, append(s.held[:0], esc), false
}

// step takes one byte of a sequence.
func (s *splitter) step(b byte) {
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
		s.flush() // another sequence cut this one short
		s.begin()
		return
	case b == can || b == sub:
		s.hold(b)
		s.flush()
		return
	}
	if b < 0x20 && s.state != inString && s.state != inStringESC {
		s.text([]byte{b}) // a control inside a sequence acts at once
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

func (s *splitter) stepEscape(b byte) {
	switch {
	case len(s.held) == 2 && b == '[':
		s.state = inCSI
	case len(s.held) == 2 && bytes.IndexByte([]byte("P]X^_"), b) >= 0:
		s.state = inString
	case b >= 0x30:
		s.end()
	}
}

func (s *splitter) hold(b byte) {
	if len(s.held) == maxSequence {
		s.sequence(s.held, false)
		s.held, s.tooLong = s.held[:0], true
	}
	s.held = append(s.held, b)
}

func (s *splitter) end() {
	s.sequence(s.held, !s.tooLong)
	s.reset()
}
