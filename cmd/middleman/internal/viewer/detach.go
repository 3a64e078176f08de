package viewer

import (
	"bytes"
	"strconv"
)

// maxKey is how many bytes of a key's sequence are held back at most.
const maxKey = 32

// keyFinder finds the detach key in the terminal's input: the control byte
// itself, or the key in the form of kitty's keyboard protocol (CSI 92;5u) or of
// xterm's modifyOtherKeys (CSI 27;5;92~).
type keyFinder struct {
	control byte
	held    []byte
}

// find returns the bytes before the detach key, and whether the key was there.
// If p ends within ESC [ and its parameters, find holds them back until the
// next call or flush. The bytes are valid until the next call.
func (f *keyFinder) find(p []byte) (before []byte, found bool) {
	if len(f.held) > 0 {
		p = append(f.held, p...)
		f.held = nil
	}
	for at := 0; at < len(p); at++ {
		if p[at] == f.control {
			return p[:at], true
		}
		if p[at] != esc || at+1 >= len(p) || p[at+1] != '[' {
			continue
		}
		end, complete := csiEnd(p[at:])
		if !complete && at+end == len(p) && end < maxKey {
			f.held = bytes.Clone(p[at:])
			return p[:at], false
		}
		if complete && f.isKey(p[at+2:at+end]) {
			return p[:at], true
		}
	}
	return p, false
}

// flush returns the bytes that were held back, because no more came in time.
func (f *keyFinder) flush() []byte {
	held := f.held
	f.held = nil
	return held
}

// csiEnd returns the length of the control sequence at the start of p, or of
// the part that is there.
func csiEnd(p []byte) (n int, complete bool) {
	for i := 2; i < len(p); i++ {
		if p[i] >= 0x40 && p[i] <= 0x7e {
			return i + 1, true
		}
		if p[i] < 0x20 || i >= maxKey {
			return i, false
		}
	}
	return len(p), false
}

// isKey checks the part of a sequence after ESC [.
func (f *keyFinder) isKey(p []byte) bool {
	fields := bytes.Split(p[:len(p)-1], []byte(";"))
	switch {
	case p[len(p)-1] == 'u' && len(fields) >= 2:
		return f.isCode(fields[0]) && isControl(fields[1])
	case p[len(p)-1] == '~' && len(fields) == 3 && string(fields[0]) == "27":
		return f.isCode(fields[2]) && isControl(fields[1])
	}
	return false
}

// isCode compares a key code, which may be followed by ":" and alternate keys.
func (f *keyFinder) isCode(field []byte) bool {
	code, _, _ := bytes.Cut(field, []byte(":"))
	n, err := strconv.Atoi(string(code))
	if err != nil {
		return false
	}
	want := int(f.control | 0x40)
	if want >= 'A' && want <= 'Z' {
		want |= 0x20
	}
	return n == want
}

// isControl checks kitty's modifiers, 1 + a bit mask, and the event type after
// ":". It ignores caps lock and num lock. A release is not a key press.
func isControl(field []byte) bool {
	const control, locks = 4, 64 | 128
	modifiers, event, hasEvent := bytes.Cut(field, []byte(":"))
	n, err := strconv.Atoi(string(modifiers))
	return err == nil && (n-1)&^locks == control && (!hasEvent || string(event) == "1")
}
