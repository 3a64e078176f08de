package vt

import "unicode/utf8"

// An OSC or DCS has a payload, which is kept until it ends. Other strings, and
// those that are not to be used, are skipped.

// payloadRun takes a run of plain characters of a string.
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

func (t *Terminal) put(r rune) {
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

// endString ends an OSC or DCS if the parser is in one, and runs it if it is
// whole.
func (t *Terminal) endString(whole bool) {
	ps := &t.parser
	if ps.state < dcsPassthrough {
		return
	}
	t.forgetJoin()
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

// ignoreString skips the rest of a string. Of an OSC it keeps that BEL ends
// it.
func (t *Terminal) ignoreString() {
	if t.parser.raw[1] == ']' {
		t.enter(ignoredString, 0x1b, ']', 'x')
		return
	}
	t.enter(ignoredString, 0x1b, 'X')
}
