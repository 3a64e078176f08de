package viewer

import (
	"bytes"
	"strconv"
)

// maxKey is how many bytes of a key's sequence are held back at most.
const maxKey = 32

// ownKey is a key that is the viewer's own, and not the program's.
type ownKey int

const (
	noKey ownKey = iota
	detachKey
	switchKey
)

// keyFinder finds the viewer's own keys in the terminal's input: the control
// byte itself, or the key in the form of kitty's keyboard protocol (CSI 92;5u)
// or of xterm's modifyOtherKeys (CSI 27;5;92~).
type keyFinder struct {
	detach, change byte // change is 0 where there is no switch key
	held           []byte
	rest           []byte // what came after the key that was found
}

// find returns the bytes before the first key of our own, and which one it is.
// If p ends within ESC [ and its parameters, find holds them back until the
// next call or flush. The bytes are valid until the next call.
func (f *keyFinder) find(p []byte) (before []byte, found ownKey) {
	if len(f.held) > 0 {
		p = append(f.held, p...)
		f.held = nil
	}
	for at := 0; at < len(p); at++ {
		if key := f.key(int(p[at])); key != noKey {
			f.rest = bytes.Clone(p[at+1:])
			return p[:at], key
		}
		if p[at] != esc || at+1 >= len(p) || p[at+1] != '[' {
			continue
		}
		end, complete := csiEnd(p[at:])
		if !complete && at+end == len(p) && end < maxKey {
			f.held = bytes.Clone(p[at:])
			return p[:at], noKey
		}
		if !complete {
			continue
		}
		if key := f.encoded(p[at+2 : at+end]); key != noKey {
			f.rest = bytes.Clone(p[at+end:])
			return p[:at], key
		}
	}
	return p, noKey
}

// key returns the key that sends the control byte c.
func (f *keyFinder) key(c int) ownKey {
	switch {
	case c == int(f.detach):
		return detachKey
	case c == int(f.change) && c != 0:
		return switchKey
	}
	return noKey
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

// encoded returns the key that sends a sequence, of which p is the part after
// ESC [.
func (f *keyFinder) encoded(p []byte) ownKey {
	fields := bytes.Split(p[:len(p)-1], []byte(";"))
	switch {
	case p[len(p)-1] == 'u' && len(fields) >= 2 && isControl(fields[1]):
		return f.key(control(fields[0]))
	case p[len(p)-1] == '~' && len(fields) == 3 && string(fields[0]) == "27" && isControl(fields[1]):
		return f.key(control(fields[2]))
	}
	return noKey
}

// control returns the control byte of a key's code, which may be followed by
// ":" and alternate keys; -1 if it has none.
func control(field []byte) int {
	code, _, _ := bytes.Cut(field, []byte(":"))
	n, err := strconv.Atoi(string(code))
	if err != nil || n < '[' || n > 'z' || n == '`' {
		return -1
	}
	return n & 0x1f
}

// isControl checks kitty's modifiers, 1 + a bit mask, and the event type after
// ":". It ignores caps lock and num lock. A release is not a key press.
func isControl(field []byte) bool {
	const control, locks = 4, 64 | 128
	modifiers, event, hasEvent := bytes.Cut(field, []byte(":"))
	n, err := strconv.Atoi(string(modifiers))
	return err == nil && (n-1)&^locks == control && (!hasEvent || string(event) == "1")
}
