package viewer

import (
	"bytes"
	"strings"

	"middleman/terminal"
)

// maxHead is how many bytes of an operating system command (OSC) are held until
// its kind is known. No harmless one is that long before its kind shows.
const maxHead = 64

// clipboardFilter removes from live output the commands that the clipboard
// policy forbids: OSC 52, and those of iTerm2 and kitty. It searches wherever a
// terminal may see such a command begin, even within other strings, because
// terminals differ in where strings end, and tmux and screen pass on their
// content. It replaces a command by a string terminator. Everything else passes
// byte for byte.
type clipboardFilter struct {
	deny  bool // the policy is deny, or ask, which asks after the viewing
	ask   bool
	state clipboardState
	more  int    // continuation bytes of the current character that are still to come
	held  []byte // a command whose kind is not known yet
	out   []byte

	takes  bool   // keep what the removed command wants to set
	taken  []byte // "<selections>;<base64>" so far
	wanted *Wanted
	label  string // the session's, for wanted
}

type clipboardState int

const (
	clipText    clipboardState = iota
	clipEscape                 // after ESC, which is held
	clipC1                     // after the first byte of a C1 control in UTF-8, which is held
	clipHead                   // in an OSC, which is held
	clipDrop                   // in an OSC that is removed
	clipDropESC                // after ESC in a removed OSC
	clipDropC1                 // after the first byte of a C1 control in a removed OSC
)

const (
	c1Lead = 0xc2 // first byte of C1 controls in UTF-8
	c1OSC  = 0x9d
	c1ST   = 0x9c
)

func newClipboardFilter(policy terminal.Clipboard) *clipboardFilter {
	return &clipboardFilter{deny: policy != terminal.ClipboardAllow, ask: policy == terminal.ClipboardAsk}
}

// filter returns the part of p that may be drawn, valid until the next call. It
// holds back at most maxHead bytes.
func (f *clipboardFilter) filter(p []byte) []byte {
	f.out = f.out[:0]
	for _, b := range p {
		f.step(b)
	}
	return f.out
}

func (f *clipboardFilter) step(b byte) {
	switch f.state {
	case clipText:
		f.text(b)
	case clipEscape:
		if f.held = append(f.held, b); b == ']' {
			f.state = clipHead
			return
		}
		f.held = f.held[:len(f.held)-1]
		f.pass()
		f.text(b)
	case clipC1:
		if f.held = append(f.held, b); b == c1OSC {
			f.state = clipHead
			return
		}
		f.held = f.held[:len(f.held)-1]
		f.pass()
		if b&0xc0 == 0x80 { // a character or another control
			f.out = append(f.out, b)
			return
		}
		f.text(b)
	case clipHead:
		f.head(b)
	default:
		f.drop(b)
	}
}

// text takes a byte that may begin a command.
func (f *clipboardFilter) text(b byte) {
	within := f.more > 0 && b&0xc0 == 0x80
	switch {
	case within:
		f.more--
	case b == esc:
		f.hold(b, clipEscape)
		return
	case b == c1Lead:
		f.hold(b, clipC1)
		return
	case b == c1OSC:
		f.hold(b, clipHead)
		return
	default:
		f.more = continuations(b)
	}
	f.out = append(f.out, b)
}

// continuations returns how many bytes follow the first byte of a character.
func continuations(b byte) int {
	switch {
	case b >= 0xf0 && b < 0xf5:
		return 3
	case b >= 0xe0 && b < 0xf0:
		return 2
	case b > c1Lead && b < 0xe0:
		return 1
	}
	return 0
}

func (f *clipboardFilter) hold(b byte, state clipboardState) {
	f.held, f.state, f.more = append(f.held[:0], b), state, 0
}

// pass emits the held bytes, which are harmless.
func (f *clipboardFilter) pass() {
	f.out = append(f.out, f.held...)
	f.held, f.state = f.held[:0], clipText
}

// head takes a byte of a command whose kind is not known yet.
func (f *clipboardFilter) head(b byte) {
	ends := b == esc || b == bel || b == can || b == sub || b == c1Lead || b == c1ST || b == c1OSC
	if !ends {
		f.held = append(f.held, b)
	}
	f.takes = false
	switch f.judge(ends) {
	case harmless:
		f.pass()
	case refused:
		f.out = append(f.out, stringEnd...) // else what comes before could continue with what follows
		f.held, f.state = f.held[:0], clipDrop
	case undecided:
		return
	}
	if ends {
		f.step(b)
	}
}

type judgement int

const (
	undecided judgement = iota
	harmless
	refused
)

// judge decides about the command in f.held, which is complete if whole is
// true. Terminals ignore controls inside it, and so does judge.
func (f *clipboardFilter) judge(whole bool) judgement {
	body := bytes.TrimPrefix(f.held, []byte{esc})[1:]
	if f.held[0] == c1OSC {
		body = f.held[1:]
	} else if f.held[0] == c1Lead {
		body = f.held[2:]
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, string(body))
	number, rest, has := strings.Cut(text, ";")
	if !has && !whole {
		if strings.Trim(number, "0123456789") != "" {
			return harmless
		}
		return f.unless(refused) // no command has such a long number
	}
	switch strings.TrimLeft(number, "0") {
	case "52":
		return f.clipboard(rest, whole)
	case "5522": // kitty: it can read the clipboard too
		return refused
	case "1337": // iTerm2
		const name = "Copy" // and CopyToClipboard
		switch {
		case strings.HasPrefix(rest, name) && f.deny:
			return refused
		case strings.HasPrefix(name, rest) && !whole:
			return undecided
		}
	}
	return harmless
}

// clipboard is judge for OSC 52: "<selections>;<base64>", or "?" to read.
func (f *clipboardFilter) clipboard(rest string, whole bool) judgement {
	if f.deny {
		f.takes, f.taken = f.ask, append(f.taken[:0], rest...)
		return refused
	}
	_, data, has := strings.Cut(rest, ";")
	switch {
	case strings.HasPrefix(data, "?"):
		return refused
	case has && data != "", whole:
		return harmless
	}
	return f.unless(refused)
}

// unless returns undecided while there is room for more bytes, else full.
func (f *clipboardFilter) unless(full judgement) judgement {
	if len(f.held) < maxHead {
		return undecided
	}
	return full
}

// drop takes a byte of a command that is removed. Its terminator is removed
// too, unless that begins another command.
func (f *clipboardFilter) drop(b byte) {
	switch f.state {
	case clipDropESC:
		if f.state = clipText; b != '\\' {
			f.hold(esc, clipEscape)
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
			f.held, f.state = append(f.held[:0], c1Lead, b), clipHead
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
