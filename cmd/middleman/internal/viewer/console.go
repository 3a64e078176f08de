package viewer

import (
	"unicode/utf16"
	"unicode/utf8"
)

// consoleKey is a key event of a Windows console, as ReadConsoleInput gives it.
type consoleKey struct {
	down    bool
	repeats uint16
	code    uint16 // the virtual key, 0 for what the console made of other input
	char    uint16 // UTF-16, 0 for a key without a character
	ctrl    bool
}

// Virtual keys that matter here.
const (
	keyMenu  = 0x12 // alt
	keySpace = 0x20
	keyTwo   = '2'
)

// maxRepeats bounds how often one event types its key.
const maxRepeats = 1024

// consoleKeys turns key events into the bytes that a terminal sends. The console
// gives control sequences as one event for each of their characters.
type consoleKeys struct {
	high uint16 // the first half of a surrogate pair whose second is to come, or 0
}

// append appends what k types to p.
func (c *consoleKeys) append(p []byte, k consoleKey) []byte {
	switch {
	case !k.down && (k.code != keyMenu || k.char == 0): // alt and digits type a character when alt goes up
		return p
	case k.char == 0 && !k.typesNull():
		return p
	}
	for range max(1, min(k.repeats, maxRepeats)) {
		p = c.appendUnit(p, k.char)
	}
	return p
}

// typesNull reports whether k, which has no character, is a typed NUL: what the
// console made of ctrl-space, or ctrl-space itself.
func (k consoleKey) typesNull() bool {
	return k.code == 0 || k.ctrl && (k.code == keySpace || k.code == keyTwo)
}

func (c *consoleKeys) appendUnit(p []byte, unit uint16) []byte {
	high := c.high
	c.high = 0
	r := rune(unit)
	if high != 0 {
		if r := utf16.DecodeRune(rune(high), rune(unit)); r != utf8.RuneError {
			return utf8.AppendRune(p, r)
		}
		p = utf8.AppendRune(p, utf8.RuneError) // it stays alone
	}
	if unit >= 0xd800 && unit < 0xdc00 {
		c.high = unit
		return p
	}
	return utf8.AppendRune(p, r) // a second half without a first becomes U+FFFD
}
