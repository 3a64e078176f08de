package viewer

import (
	"bytes"
)

type judgement int

const (
	undecided judgement = iota
	harmless
	refused
)

// judge decides about the command in f.held, which is complete if whole is
// true. It refuses what any terminal could take for a command of the clipboard.
func (f *clipboardFilter) judge(whole bool) judgement {
	number, rest, has := bytes.Cut(f.held[f.intro:], []byte(";"))
	n := readNumber(number)
	switch {
	case n.clipboard && !n.plain:
		return refused
	case !has && !whole:
		return f.unless(refused) // no command has such a long number
	case !n.clipboard:
		return harmless
	}
	text := string(bytes.Map(func(r rune) rune {
		if r < ' ' || r >= del {
			return -1
		}
		return r
	}, rest))
	switch n.value {
	case 52:
		return f.clipboard(text, whole)
	case 50, 1337: // iTerm2
		return f.copying(text, whole)
	}
	return refused // kitty's 5522, which can read the clipboard too, or a number too large
}

// maxNumber is the largest number of an OSC. In tmux a larger one overflows, so
// that 4294967348 is 52.
const maxNumber = 1<<16 - 1

// oscNumber is the number of an OSC, as terminals may read it.
type oscNumber struct {
	value     int  // of all digits; maxNumber+1 if larger than maxNumber
	plain     bool // there is nothing but digits and C0 controls, so terminals agree
	clipboard bool // a terminal may take it for one of the clipboard's
}

// readNumber reads what is before the first ";". All terminals ignore controls
// there. Of other characters than digits Windows Terminal ignores each, some
// ignore what is not UTF-8, and for old versions of tmux the first one ends the
// number.
func readNumber(p []byte) oscNumber {
	n := oscNumber{plain: true}
	for _, b := range p {
		switch {
		case b >= '0' && b <= '9':
			n.value = min(n.value*10+int(b-'0'), maxNumber+1)
		case b >= ' ':
			n.plain = false
			n.clipboard = n.clipboard || isClipboard(n.value)
		}
	}
	n.clipboard = n.clipboard || isClipboard(n.value)
	return n
}

func isClipboard(number int) bool {
	switch number {
	case 50, 52, 1337, 5522:
		return true
	}
	return number > maxNumber
}

// clipboard is judge for OSC 52: "<selections>;<base64>", or "?" to read.
func (f *clipboardFilter) clipboard(rest string, whole bool) judgement {
	if f.deny {
		f.takes, f.taken = f.ask, append(f.taken[:0], rest...)
		return refused
	}
	_, data, has := bytes.Cut([]byte(rest), []byte(";"))
	data = bytes.TrimLeft(data, " ")
	switch {
	case bytes.HasPrefix(data, []byte("?")):
		return refused
	case len(data) > 0:
		return harmless
	case !whole:
		return f.unless(refused)
	case !has && bytes.Contains([]byte(rest), []byte("?")):
		return refused
	}
	return harmless
}

// copying is judge for iTerm2's commands, of which Copy and CopyToClipboard set
// the clipboard.
func (f *clipboardFilter) copying(rest string, whole bool) judgement {
	const name = "Copy"
	switch {
	case !f.deny:
		return harmless
	case len(rest) >= len(name) && rest[:len(name)] == name:
		return refused
	case len(rest) < len(name) && rest == name[:len(rest)] && !whole:
		return f.unless(refused)
	}
	return harmless
}

// unless returns undecided while there is room for more bytes, else full.
func (f *clipboardFilter) unless(full judgement) judgement {
	if len(f.held) < maxHead {
		return undecided
	}
	return full
}
