package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// The parser follows Paul Williams' diagram of the DEC ANSI parser
// (https://vt100.net/emu/dec_ansi_parser). UTF-8 is decoded before it, so C1
// controls are known as U+0080 to U+009F and not as single bytes.
type state uint8

const (
	ground state = iota
	escape
	escapeIntermediate
	csiEntry
	csiParam
	csiIntermediate
	csiIgnore
	dcsEntry
	dcsParam
	dcsIntermediate
	dcsPassthrough
	oscString
	ignoredString // SOS, PM, APC, and any OSC or DCS that is not to be used
)

const (
	maxSequence = 1 << 10   // bytes of an unfinished ESC, CSI or DCS head
	maxString   = 256 << 10 // bytes of an OSC or DCS payload
)

// parser is the state of an unfinished sequence.
type parser struct {
	state   state
	collect uint32 // prefix and intermediates, one a byte
	params  params
	raw     []byte // the sequence so far, without a payload
	payload []byte // of an OSC or DCS
	partial [utf8.UTFMax]byte
	npart   int // bytes of an unfinished rune
}

// Write feeds what the program wrote. It may be cut anywhere. Write takes all
// of p and never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	total := len(p)
	if t.parser.npart > 0 {
		p = p[t.finishRune(p):]
	}
	for len(p) > 0 {
		if t.parser.state == ground {
			p = p[t.ground(p):]
			continue
		}
		p = p[t.stepRune(p):]
	}
	return total, nil
}

// stepRune feeds the first rune of p to the state machine, or a longer run
// where the state takes one.
func (t *Terminal) stepRune(p []byte) int {
	if t.parser.state >= dcsPassthrough {
		if n := t.payloadRun(p); n > 0 {
			return n
		}
	}
	r, n := decode(p)
	if n == 0 {
		t.parser.npart = copy(t.parser.partial[:], p)
		return len(p)
	}
	t.step(r)
	return n
}

// ground handles the beginning of p in the ground state. It returns how many
// bytes it consumed.
func (t *Terminal) ground(p []byte) int {
	switch b := p[0]; {
	case b == 0x1b:
		if len(p) > 2 && p[1] == '[' {
			if n := t.completeCSI(p[2:]); n > 0 {
				return 2 + n
			}
		}
		t.enter(escape, 0x1b)
		return 1
	case b < 0x20:
		t.execute(b)
		return 1
	case b < 0x7f:
		n := printable(p)
		t.printASCII(p[:n])
		return n
	case b == 0x7f:
		return 1
	}
	r, n := decode(p)
	if n == 0 {
		t.parser.npart = copy(t.parser.partial[:], p)
		return len(p)
	}
	if r < 0xa0 {
		t.step(r)
	} else {
		t.print(r)
	}
	return n
}

// printable is the length of the printable ASCII that p begins with.
func printable(p []byte) int {
	n := 0
	for ; n+8 <= len(p); n += 8 {
		const ones, tops = 0x0101010101010101, 0x8080808080808080
		x := binary.LittleEndian.Uint64(p[n:])
		// The top bit of a byte is set in x from 0x80 on, in x+1 from 0x7f on,
		// and in x-0x20 below 0x20. A carry only ever leaves a byte that is
		// not printable.
		if (x|(x+ones)|(x-0x20*ones))&tops != 0 {
			break
		}
	}
	for n < len(p) && p[n]-0x20 < 0x5f {
		n++
	}
	return n
}

// completeCSI is the fast path for a control sequence that is complete in p
// and has no control character in it. It returns the length of the sequence,
// or 0 where the state machine has to parse it.
func (t *Terminal) completeCSI(p []byte) int {
	ps := &t.parser
	ps.collect = 0
	ps.params.reset()
	i := 0
	if p[0] >= '<' && p[0] <= '?' {
		ps.collect = uint32(p[0])
		i++
	}
	for ; i < len(p); i++ {
		switch b := p[i]; {
		case b >= '0' && b <= '9':
			ps.params.digit(int32(b - '0'))
		case b == ';':
			ps.params.next()
		case b == ':':
			ps.params.nextSub()
		case b >= 0x20 && b <= 0x2f:
			if i+1 >= len(p) || p[i+1] < 0x40 || p[i+1] > 0x7e {
				return 0
			}
			ps.collect = ps.collect<<8 | uint32(b)
		case b >= 0x40 && b <= 0x7e:
			t.dispatchCSI(b)
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// enter begins a sequence in state s. first are the bytes that bring a parser
// from the ground state to s; a snapshot repeats them.
func (t *Terminal) enter(s state, first ...byte) {
	ps := &t.parser
	ps.state = s
	ps.collect = 0
	ps.params.reset()
	ps.raw = append(ps.raw[:0], first...)
	ps.payload = ps.payload[:0]
}

// toGround ends a sequence.
func (t *Terminal) toGround() {
	ps := &t.parser
	ps.state = ground
	ps.raw = ps.raw[:0]
	ps.payload = ps.payload[:0]
	if cap(ps.payload) > 4<<10 {
		ps.payload = nil
	}
}

// step feeds one rune to the state machine.
func (t *Terminal) step(r rune) {
	if t.anywhere(r) {
		return
	}
	ps := &t.parser
	if r < 0x20 {
		t.stepControl(byte(r))
		return
	}
	if r == 0x7f && ps.state != oscString {
		return // DEL is ignored in all states, but a part of an OSC
	}
	switch ps.state {
	case ground:
		t.print(r)
	case escape, escapeIntermediate:
		t.stepEscape(r)
	case csiEntry, csiParam, csiIntermediate, csiIgnore:
		t.stepCSI(r)
	case dcsEntry, dcsParam, dcsIntermediate:
		t.stepDCS(r)
	case dcsPassthrough, oscString:
		t.putPayload(r)
	}
}

// anywhere handles what has the same effect in every state.
func (t *Terminal) anywhere(r rune) bool {
	switch {
	case r == 0x1b:
		t.endString(true)
		t.enter(escape, 0x1b)
	case r == 0x18 || r == 0x1a: // CAN, SUB
		t.endString(false)
		t.toGround()
		t.endGrapheme()
	case r < 0x80 || r > 0x9f:
		return false
	case r == 0x9c: // ST
		t.endString(true)
		t.toGround()
	case r == 0x9b:
		t.endString(false)
		t.enter(csiEntry, 0x1b, '[')
	case r == 0x90:
		t.endString(false)
		t.enter(dcsEntry, 0x1b, 'P')
	case r == 0x9d:
		t.endString(false)
		t.enter(oscString, 0x1b, ']')
	case r == 0x98 || r == 0x9e || r == 0x9f: // SOS, PM, APC
		t.endString(false)
		t.enter(ignoredString, 0x1b, 'X')
	default:
		t.endString(false)
		t.toGround()
		t.dispatchEscape(uint32(r - 0x40)) // a C1 control is ESC and this byte
	}
	return true
}

// stepControl handles a C0 control.
func (t *Terminal) stepControl(b byte) {
	switch s := t.parser.state; {
	case s == oscString && b == 0x07:
		t.endString(true)
		t.toGround()
	case s == dcsPassthrough:
		t.putPayload(rune(b))
	case s >= dcsEntry:
		if s == ignoredString && b == 0x07 && t.parser.raw[1] == ']' {
			t.toGround()
			t.endGrapheme()
		}
	default:
		t.execute(b)
	}
}

func (t *Terminal) stepEscape(r rune) {
	ps := &t.parser
	switch {
	case r >= 0x30 && r < 0x7f && ps.state == escapeIntermediate:
		t.finishSequence(r, t.dispatchEscape)
	case r >= 0x20 && r <= 0x2f:
		t.collect(r, escapeIntermediate)
	case r == '[':
		t.enter(csiEntry, 0x1b, '[')
	case r == ']':
		t.enter(oscString, 0x1b, ']')
	case r == 'P':
		t.enter(dcsEntry, 0x1b, 'P')
	case r == 'k' && ps.state == escape: // screen's and tmux's title is OSC 2
		t.enter(oscString, 0x1b, ']')
		ps.payload = append(ps.payload, '2', ';')
	case r == 'X' || r == '^' || r == '_':
		t.enter(ignoredString, 0x1b, 'X')
	case r < 0x7f:
		t.finishSequence(r, t.dispatchEscape)
	default:
		t.toGround()
	}
}

// finishSequence ends a sequence with its final byte and runs it.
func (t *Terminal) finishSequence(r rune, dispatch func(uint32)) {
	key := t.parser.collect<<8 | uint32(r)
	t.toGround()
	dispatch(key)
}

// collect keeps a prefix or an intermediate.
func (t *Terminal) collect(r rune, next state) {
	ps := &t.parser
	if ps.collect > 0xffff {
		ps.collect = 0xffffff // too many: no sequence has this key
	} else {
		ps.collect = ps.collect<<8 | uint32(r)
	}
	ps.state = next
	t.recordRaw(byte(r))
}

// recordRaw keeps a byte of an unfinished sequence for a snapshot. A sequence
// longer than maxSequence is ignored.
func (t *Terminal) recordRaw(b byte) {
	ps := &t.parser
	if len(ps.raw) < maxSequence {
		ps.raw = append(ps.raw, b)
		return
	}
	switch {
	case ps.state < csiEntry:
		t.enter(escapeIntermediate, 0x1b, ' ', ' ', ' ', ' ')
		ps.collect = 0xffffff
	case ps.state < dcsEntry:
		t.ignoreCSI()
	default:
		t.ignoreString()
	}
}

func (t *Terminal) ignoreCSI() { t.enter(csiIgnore, 0x1b, '[', '0', '<') }

// parameter keeps a digit or separator.
func (t *Terminal) parameter(r rune, next state) {
	p := &t.parser.params
	switch r {
	case ';':
		p.next()
	case ':':
		p.nextSub()
	default:
		p.digit(r - '0')
	}
	t.parser.state = next
	t.recordRaw(byte(r))
}

func (t *Terminal) stepCSI(r rune) {
	s := t.parser.state
	switch {
	case r > 0x7f:
		if s != csiIgnore {
			t.toGround()
		}
	case r >= 0x40:
		if s == csiIgnore {
			t.toGround()
			return
		}
		t.finishSequence(r, t.dispatchCSIKey)
	case s == csiIgnore:
	case r <= 0x2f:
		t.collect(r, csiIntermediate)
	case s == csiIntermediate:
		t.ignoreCSI()
	case r <= ';':
		t.parameter(r, csiParam)
	case s == csiEntry:
		t.collect(r, csiParam)
	default:
		t.ignoreCSI()
	}
}

func (t *Terminal) stepDCS(r rune) {
	s := t.parser.state
	switch {
	case r > 0x7f:
		t.toGround()
	case r >= 0x40:
		t.collect(r, dcsPassthrough)
		if _, ok := dcsTable[t.parser.collect]; !ok {
			t.ignoreString()
		}
	case r <= 0x2f:
		t.collect(r, dcsIntermediate)
	case s == dcsIntermediate:
		t.ignoreString()
	case r <= ';':
		t.parameter(r, dcsParam)
	case s == dcsEntry:
		t.collect(r, dcsParam)
	default:
		t.ignoreString()
	}
}

// The payload of an OSC or DCS is kept until the string ends. The payloads of
// other strings, and of those that are ignored, are skipped.

// payloadRun consumes the printable ASCII that p begins with as payload. It
// returns how many bytes these are.
func (t *Terminal) payloadRun(p []byte) int {
	n := printable(p)
	ps := &t.parser
	if ps.state == ignoredString || n == 0 {
		return n
	}
	if len(ps.payload)+n > maxString {
		t.ignoreString()
		return n
	}
	ps.payload = append(ps.payload, p[:n]...)
	t.checkOSC()
	return n
}

// putPayload adds a rune to the payload. A payload that is too long makes the
// rest of the string ignored.
func (t *Terminal) putPayload(r rune) {
	ps := &t.parser
	if len(ps.payload)+utf8.UTFMax > maxString {
		t.ignoreString()
		return
	}
	ps.payload = utf8.AppendRune(ps.payload, r)
	t.checkOSC()
}

// checkOSC skips the rest of an OSC that does not begin with a number.
func (t *Terminal) checkOSC() {
	ps := &t.parser
	if ps.state != oscString {
		return
	}
	for i, b := range ps.payload {
		if b == ';' && i > 0 {
			return
		}
		if b < '0' || b > '9' || i > 8 {
			t.ignoreString()
			return
		}
	}
}

// endString ends an OSC or DCS if the parser is in one. It runs the string if
// whole, that is, if a terminator and not another control ended it.
func (t *Terminal) endString(whole bool) {
	ps := &t.parser
	if ps.state < dcsPassthrough {
		return
	}
	t.endGrapheme()
	if !whole {
		return
	}
	switch ps.state {
	case oscString:
		t.dispatchOSC(ps.payload)
	case dcsPassthrough:
		dcsTable[ps.collect](t, ps.payload)
	}
}

// ignoreString skips the rest of a string. It remembers whether the string is
// an OSC, which BEL ends too.
func (t *Terminal) ignoreString() {
	if t.parser.raw[1] == ']' {
		t.enter(ignoredString, 0x1b, ']', 'x')
		return
	}
	t.enter(ignoredString, 0x1b, 'X')
}
