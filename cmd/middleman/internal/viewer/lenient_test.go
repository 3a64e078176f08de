package viewer

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// lenient finds the clipboard commands that terminals could see in output. Each
// of its options is a way in which terminals differ. Every one ignores the
// controls within sequences.
type lenient struct {
	ignoreCancel bool // CAN and SUB too
	ignoreHigh   bool // bytes beyond ASCII after ESC and in an OSC: tmux, xterm.js
	anyNumber    bool // what is no digit in a number: Windows Terminal
	c1           bool // knows C1 controls, in UTF-8 and as single bytes
	through      through

	state   lenientState
	content []byte
	inner   []byte // what reaches the terminal in which this one runs
	found   []string
}

type through int

const (
	throughNone through = iota
	throughTmux
	throughScreen
)

type lenientState int

const (
	lenientGround lenientState = iota
	lenientEscape
	lenientMiddle // after intermediates
	lenientOSC
	lenientDCS
	lenientDCSEscape
)

// lenients returns a parser for each combination of options.
func lenients() []*lenient {
	var all []*lenient
	for bits := range 1 << 4 {
		for _, t := range []through{throughNone, throughTmux, throughScreen} {
			all = append(all, &lenient{
				ignoreCancel: bits&1 != 0, ignoreHigh: bits&2 != 0, anyNumber: bits&4 != 0, c1: bits&8 != 0, through: t,
			})
		}
	}
	return all
}

// clipboardCommands returns the commands that some terminal could see in
// output; with onlyReads only those that read the clipboard.
func clipboardCommands(output string, onlyReads bool) []string {
	var found []string
	for _, l := range lenients() {
		for _, command := range l.commands([]byte(output)) {
			_, rest, _ := strings.Cut(command, ";")
			_, data, _ := strings.Cut(rest, ";")
			if !onlyReads || strings.HasPrefix(data, "?") || strings.HasPrefix(command, "5522") {
				found = append(found, command)
			}
		}
	}
	return found
}

func (l *lenient) commands(p []byte) []string {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			r = rune(p[0]) // as a single byte
			if r >= 0xa0 {
				r = utf8.RuneError
			}
		}
		l.step(r, p[:size])
		p = p[size:]
	}
	l.dispatch()
	if len(l.inner) == 0 {
		return l.found
	}
	inner := lenient{ignoreCancel: l.ignoreCancel, ignoreHigh: l.ignoreHigh, anyNumber: l.anyNumber, c1: l.c1}
	return append(l.found, inner.commands(l.inner)...)
}

func (l *lenient) step(r rune, raw []byte) {
	switch l.state {
	case lenientDCS, lenientDCSEscape:
		if l.through != throughNone {
			l.pass(r, raw)
			return
		}
	}
	switch {
	case r == esc:
		l.enter(lenientEscape)
	case r == can || r == sub:
		if !l.ignoreCancel {
			l.content = nil
			l.state = lenientGround
		}
	case r >= 0x80 && r < 0xa0 && l.c1 && l.through != throughTmux:
		l.enter(map[rune]lenientState{c1OSC: lenientOSC, c1DCS: lenientDCS}[r])
	case r == bel && l.state == lenientOSC:
		l.enter(lenientGround)
	case r < ' ' || r == del:
	case l.state == lenientOSC:
		if r < 0x80 || !l.ignoreHigh {
			l.content = append(l.content, raw...)
		}
	case r >= 0x80:
		if l.state == lenientEscape && !l.ignoreHigh {
			l.state = lenientGround
		}
	case l.state == lenientEscape || l.state == lenientMiddle:
		l.escape(r)
	}
}

func (l *lenient) escape(r rune) {
	switch {
	case r < '0':
		l.state = lenientMiddle
	case l.state == lenientMiddle:
		l.state = lenientGround
	default:
		l.enter(map[rune]lenientState{']': lenientOSC, 'P': lenientDCS}[r])
	}
}

// enter ends the present string.
func (l *lenient) enter(s lenientState) {
	l.dispatch()
	l.state, l.content = s, nil
}

// pass takes a part of a DCS as tmux and screen do, which pass it on.
func (l *lenient) pass(r rune, raw []byte) {
	switch {
	case l.state == lenientDCS && r == esc:
		l.state = lenientDCSEscape
		return
	case l.state == lenientDCSEscape && r == '\\':
		if body, ok := bytes.CutPrefix(l.content, []byte("tmux;")); ok || l.through == throughScreen {
			l.inner = append(l.inner, body...)
		}
		l.state, l.content = lenientGround, nil
		return
	case l.state == lenientDCSEscape && r != esc && l.through == throughScreen:
		l.content = append(l.content, esc)
	}
	l.state = lenientDCS
	l.content = append(l.content, raw...)
}

// dispatch notes the present OSC if it is a clipboard command.
func (l *lenient) dispatch() {
	if l.state != lenientOSC {
		return
	}
	number, n := l.content, uint32(0)
	if l.anyNumber {
		number, _, _ = bytes.Cut(number, []byte(";"))
	}
	for _, b := range number {
		if b >= '0' && b <= '9' {
			n = n*10 + uint32(b-'0') // as in tmux it may overflow
		} else if !l.anyNumber {
			break
		}
	}
	_, rest, has := bytes.Cut(l.content, []byte(";"))
	switch {
	case n == 52 && has, n == 5522, n == 50 && bytes.HasPrefix(rest, []byte("Copy")), n == 1337 && bytes.HasPrefix(rest, []byte("Copy")):
		l.found = append(l.found, string(l.content))
	}
}
