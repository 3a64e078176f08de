package viewer

import (
	"encoding/binary"
	"unicode/utf8"

	"middleman/terminal"
)

// maxHead is how many bytes of an operating system command (OSC) are held until
// its kind is known. No harmless one is that long before its kind shows.
const maxHead = 64

// clipboardFilter removes from live output the commands that the clipboard
// policy forbids: OSC 52, and those of iTerm2 and kitty. It searches wherever a
// terminal may see such a command begin, even within other strings, because
// terminals differ in where strings end, and tmux and screen pass on their
// content. It replaces a command by a string terminator.
//
// Everything else passes byte for byte, but for what terminals read differently.
// That gets the one form that they agree on, without a change of what a terminal
// that follows ECMA-48 shows:
//   - A control after ESC comes before it, and DEL after ESC is left out.
//   - A sequence that CAN, SUB or a byte beyond ASCII cuts short after ESC, and
//     a device control string (DCS) that anything but its terminator ends, get a
//     terminator. So does an OSC whose number a C1 control ends.
//   - A change of the encoding chooses UTF-8: in another one, a part of a
//     character is a control.
type clipboardFilter struct {
	deny  bool // the policy is deny, or ask, which asks after the viewing
	ask   bool
	state clipboardState
	dcs   bool // in a DCS, or what some terminal reads as one
	held  []byte
	intro int  // how many bytes of held begin the OSC
	lone  bool // the last byte that was emitted is an ESC that ESC follows
	out   []byte

	// The current character: how many bytes are still to come, and between
	// which values the next one is.
	more   int
	lo, hi byte

	takes  bool   // keep what the removed command wants to set
	taken  []byte // "<selections>;<base64>" so far
	wanted *Wanted
	label  string // the session's, for wanted
}

type clipboardState int

const (
	clipText    clipboardState = iota
	clipEscape                 // after ESC and intermediates, which are held
	clipC1                     // after the first byte of a C1 control in UTF-8, which is held
	clipHead                   // in an OSC, which is held
	clipDrop                   // in an OSC that is removed
	clipDropESC                // after ESC in a removed OSC
	clipDropC1                 // after the first byte of a C1 control in a removed OSC
)

const (
	c1Lead = 0xc2 // first byte of C1 controls in UTF-8
	c1DCS  = 0x90
	c1OSC  = 0x9d
	c1ST   = 0x9c
	del    = 0x7f
)

func newClipboardFilter(policy terminal.Clipboard) *clipboardFilter {
	return &clipboardFilter{deny: policy != terminal.ClipboardAllow, ask: policy == terminal.ClipboardAsk}
}

// filter returns the part of p that may be drawn, valid until the next call. It
// holds back at most maxHead bytes.
func (f *clipboardFilter) filter(p []byte) []byte {
	f.out = f.out[:0]
	for len(p) > 0 {
		if f.state == clipText && f.more == 0 {
			n := harmlessRun(p, f.dcs)
			f.out = append(f.out, p[:n]...)
			if p = p[n:]; len(p) == 0 {
				break
			}
		}
		f.step(p[0])
		p = p[1:]
	}
	return f.out
}

// harmlessRun returns how many bytes at the start of p pass whatever follows
// them: text, controls other than C1, and ESC [, unless that ends a DCS.
func harmlessRun(p []byte, dcs bool) int {
	n := 0
	for n < len(p) {
		switch b := p[n]; {
		case b == esc:
			if dcs || n+1 == len(p) || p[n+1] != '[' {
				return n
			}
			n += 2
		case b < utf8.RuneSelf:
			n += asciiRun(p[n:])
		case b > 0xe0 && b < 0xed && n+2 < len(p) && p[n+1]&0xc0 == 0x80 && p[n+2]&0xc0 == 0x80:
			n += 3 // most characters of three bytes
		default:
			r, size := utf8.DecodeRune(p[n:])
			if r < 0xa0 || r == utf8.RuneError && size == 1 {
				return n
			}
			n += size
		}
	}
	return n
}

// asciiRun returns how many bytes of ASCII other than ESC p begins with.
func asciiRun(p []byte) int {
	n := 0
	for ; n+8 <= len(p); n += 8 {
		const ones, tops = 0x0101010101010101, 0x8080808080808080
		x := binary.LittleEndian.Uint64(p[n:])
		noESC := x ^ esc*ones // a byte of it is zero where x has ESC
		if (x|(noESC-ones)&^noESC)&tops != 0 {
			break
		}
	}
	for n < len(p) && p[n] < utf8.RuneSelf && p[n] != esc {
		n++
	}
	return n
}

func (f *clipboardFilter) step(b byte) {
	switch f.state {
	case clipText:
		f.text(b)
	case clipEscape:
		f.escape(b)
	case clipC1:
		f.c1(b)
	case clipHead:
		f.head(b)
	default:
		f.drop(b)
	}
}

// text takes a byte that may begin a command.
func (f *clipboardFilter) text(b byte) {
	if f.more > 0 && f.lo <= b && b <= f.hi {
		f.more--
		f.lo, f.hi = 0x80, 0xbf
		f.out = append(f.out, b)
		return
	}
	f.more = 0
	switch b {
	case esc:
		f.hold(clipEscape, b)
	case c1Lead:
		f.hold(clipC1, b)
	case c1OSC:
		f.begin(b)
	case c1DCS:
		f.dcs = true
		f.out = append(f.out, b)
	default:
		f.more, f.lo, f.hi = continuation(b)
		f.out = append(f.out, b)
	}
}

// continuation returns how many bytes follow the first byte of a character, and
// between which values the second one is.
func continuation(b byte) (more int, lo, hi byte) {
	lo, hi = 0x80, 0xbf
	switch {
	case b == 0xe0:
		return 2, 0xa0, hi
	case b == 0xed:
		return 2, lo, 0x9f
	case b == 0xf0:
		return 3, 0x90, hi
	case b == 0xf4:
		return 3, lo, 0x8f
	case b > 0xf0 && b < 0xf4:
		return 3, lo, hi
	case b > 0xe0 && b < 0xf0:
		return 2, lo, hi
	case b > c1Lead && b < 0xe0:
		return 1, lo, hi
	}
	return 0, lo, hi
}

func (f *clipboardFilter) hold(state clipboardState, bs ...byte) {
	f.held, f.state, f.more, f.lone = append(f.held[:0], bs...), state, 0, false
}

// begin holds an introducer of an OSC that is a C1 control.
func (f *clipboardFilter) begin(bs ...byte) {
	f.closeDCS()
	f.hold(clipHead, bs...)
	f.intro = len(bs)
}

// pass emits the held bytes, which are harmless.
func (f *clipboardFilter) pass() {
	f.out = append(f.out, f.held...)
	f.held, f.state = f.held[:0], clipText
}

// end emits a string terminator in place of the held bytes.
func (f *clipboardFilter) end() {
	f.out = append(f.out, stringEnd...)
	f.held, f.state, f.dcs = f.held[:0], clipText, false
}

// closeDCS ends a DCS. tmux and screen write its content to a terminal of their
// own, which would read it together with that of the next one.
func (f *clipboardFilter) closeDCS() {
	if f.dcs {
		f.out = append(f.out, stringEnd...)
		f.dcs = false
	}
}

// escape takes a byte after ESC and perhaps intermediates. Terminals execute
// controls there, or ignore them, and go on.
func (f *clipboardFilter) escape(b byte) {
	switch {
	case b == esc: // it cuts the sequence short
		f.closeDCS()
		f.held = f.held[:1]
		f.pass()
		f.hold(clipEscape, b)
		f.lone = true
	case b == can, b == sub, b >= utf8.RuneSelf, len(f.held) == maxHead: // tmux ignores what is beyond ASCII
		f.end()
		f.text(b)
	case b < ' ':
		if f.lone {
			f.out = append(f.out, '\\')
			f.lone = false
		}
		f.out = append(f.out, b)
	case b == del:
	case b < '0':
		f.held = append(f.held, b)
	default:
		f.final(b)
	}
}

// final takes the byte that ends an escape sequence.
func (f *clipboardFilter) final(b byte) {
	if string(f.held) == "\x1b" && b == '\\' {
		f.dcs = false
	}
	f.closeDCS()
	switch {
	case b == ']':
		f.held, f.state = append(f.held, b), clipHead
		f.intro = len(f.held)
		return
	case b == 'P':
		f.dcs = true
	case len(f.held) > 1 && f.held[1] == '%':
		f.held, b = f.held[:2], 'G'
	}
	f.held = append(f.held, b)
	f.pass()
}

// c1 takes the second byte of what may be a C1 control in UTF-8.
func (f *clipboardFilter) c1(b byte) {
	switch {
	case b == c1OSC:
		f.begin(c1Lead, b)
		return
	case b == c1DCS:
		f.dcs = true
	}
	f.pass()
	if b&0xc0 == 0x80 { // a character or another control
		f.out = append(f.out, b)
		return
	}
	f.text(b)
}

// head takes a byte of a command whose kind is not known yet. Some terminals
// ignore there what ends the command in others.
func (f *clipboardFilter) head(b byte) {
	switch b {
	case esc, bel:
		f.decide(f.judge(true))
		f.step(b)
	case can, sub: // a cancelled command has no effect
		f.end()
		f.text(b)
	case c1ST, c1OSC:
		f.headC1(b)
	default:
		f.dcs = f.dcs || b == c1DCS
		f.held = append(f.held, b)
		f.decide(f.judge(false))
	}
}

// headC1 takes a C1 control that ends the command in some terminals, in UTF-8 or
// as a single byte.
func (f *clipboardFilter) headC1(b byte) {
	introducer := []byte{b}
	if last := len(f.held) - 1; last >= f.intro && f.held[last] == c1Lead {
		f.held, introducer = f.held[:last], []byte{c1Lead, b}
	}
	if f.judge(true) == harmless {
		f.out = append(f.out, f.held...)
	}
	f.end()
	if b == c1OSC {
		f.begin(introducer...)
	}
}

// decide does with the held command what j says.
func (f *clipboardFilter) decide(j judgement) {
	switch j {
	case harmless:
		f.pass()
	case refused:
		f.end() // else what comes before could continue with what follows
		f.state = clipDrop
	}
}

// drop takes a byte of a command that is removed. Its terminator is removed
// too, unless that begins another command.
func (f *clipboardFilter) drop(b byte) {
	switch f.state {
	case clipDropESC:
		if f.state = clipText; b != '\\' {
			f.hold(clipEscape, esc)
			f.step(b)
			return
		}
		f.want()
		return
	case clipDropC1:
		if b == c1ST {
			f.state = clipText
			f.want()
			return
		}
		if b == c1OSC {
			f.begin(c1Lead, b)
			return
		}
		f.take(c1Lead)
		f.state = clipDrop
	}
	switch b {
	case bel, c1ST:
		f.state = clipText
		f.want()
	case can, sub:
		f.state = clipText
	case esc:
		f.state = clipDropESC
	case c1Lead:
		f.state = clipDropC1
	default:
		f.take(b)
	}
}
