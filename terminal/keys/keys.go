// Package keys knows what a terminal types for keys that are named as in tmux.
package keys

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"middleman/terminal"
)

// The modifiers of a key, as terminals number them in a sequence (less 1).
const (
	modShift = 1 << iota
	modMeta
	modControl
)

// plainKeys are the keys that type one character.
var plainKeys = map[string]byte{
	"enter": '\r', "escape": 0x1b, "tab": '\t', "bspace": 0x7f, "space": ' ',
}

// cursorKeys type ESC [ and a letter, or ESC O and it where the program has asked
// for application cursor keys.
var cursorKeys = map[string]byte{"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F'}

// letterKeys type ESC O and a letter.
var letterKeys = map[string]byte{"f1": 'P', "f2": 'Q', "f3": 'R', "f4": 'S'}

// numberKeys type ESC [, a number and a tilde.
var numberKeys = map[string]int{
	"ic": 2, "insert": 2, "dc": 3, "delete": 3,
	"ppage": 5, "pageup": 5, "pgup": 5, "npage": 6, "pagedown": 6, "pgdn": 6,
	"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
}

// isCursor reports whether what a key types depends on the program's mode.
func isCursor(name string) bool {
	key, mods := modifiers(name)
	return mods == 0 && cursorKeys[strings.ToLower(key)] != 0
}

// modifiers splits a name such as C-M-x into key and modifiers. ^x is C-x.
func modifiers(name string) (key string, mods int) {
	for len(name) > 2 && name[1] == '-' {
		switch name[0] {
		case 'C', 'c':
			mods |= modControl
		case 'M', 'm':
			mods |= modMeta
		case 'S', 's':
			mods |= modShift
		default:
			return name, mods
		}
		name = name[2:]
	}
	if len(name) == 2 && name[0] == '^' {
		return name[1:], mods | modControl
	}
	return name, mods
}

// Of returns what the keys type at a session. If that depends on the program's
// mode, it asks the session for that.
func Of(ctx context.Context, s terminal.Session, names []string) (p []byte, err error) {
	application := false
	if slices.ContainsFunc(names, isCursor) {
		shot, err := s.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatJSON})
		if err != nil {
			return nil, err
		}
		var screen struct{ Modes []string }
		if err := json.Unmarshal(shot.Data, &screen); err != nil {
			return nil, fmt.Errorf("read the modes of the screen: %w", err)
		}
		application = slices.Contains(screen.Modes, "application-cursor-keys")
	}
	for _, name := range names {
		key, err := Bytes(name, application)
		if err != nil {
			return nil, err
		}
		p = append(p, key...)
	}
	return p, nil
}

// Bytes returns what a terminal types for a key that is named as in tmux:
// Enter, Escape, Up, F1, C-c, M-x, S-Tab, or a character. application says that
// the program has asked for application cursor keys.
func Bytes(name string, application bool) ([]byte, error) {
	key, mods := modifiers(name)
	lower := strings.ToLower(key)
	switch letter := cursorKeys[lower]; {
	case letter != 0 && mods == 0 && application:
		return []byte{0x1b, 'O', letter}, nil
	case letter != 0 && mods == 0:
		return []byte{0x1b, '[', letter}, nil
	case letter != 0:
		return fmt.Appendf(nil, "\x1b[1;%d%c", mods+1, letter), nil
	}
	letter, isLetter := letterKeys[lower]
	number, isNumber := numberKeys[lower]
	switch {
	case isLetter && mods == 0:
		return []byte{0x1b, 'O', letter}, nil
	case isLetter:
		return fmt.Appendf(nil, "\x1b[1;%d%c", mods+1, letter), nil
	case isNumber && mods == 0:
		return fmt.Appendf(nil, "\x1b[%d~", number), nil
	case isNumber:
		return fmt.Appendf(nil, "\x1b[%d;%d~", number, mods+1), nil
	case lower == "btab" && mods == 0, lower == "tab" && mods == modShift:
		return []byte("\x1b[Z"), nil
	}
	if p, ok := character(key, lower, mods&^modMeta); ok {
		if mods&modMeta != 0 {
			p = append([]byte{0x1b}, p...)
		}
		return p, nil
	}
	return nil, fmt.Errorf("there is no key %q: keys are Enter, Escape, Tab, BSpace, Space, Up, Down, Left, Right, Home, End, "+
		"PageUp, PageDown, Insert, Delete, F1 to F12, or a character, with C-, M- or S- before them", name)
}

// character returns what a key types that is one character, with or without
// control.
func character(key, lower string, mods int) ([]byte, bool) {
	plain, named := plainKeys[lower]
	switch {
	case mods == 0 && named:
		return []byte{plain}, true
	case mods == 0:
		_, n := utf8.DecodeRuneInString(key)
		return []byte(key), n == len(key) && n > 0 && utf8.ValidString(key) && (n > 1 || key[0] >= ' ' && key[0] != 0x7f)
	case mods != modControl:
		return nil, false
	case lower == "space":
		return []byte{0}, true
	case lower == "bspace":
		return []byte{'\b'}, true
	case len(key) != 1:
		return nil, false
	}
	switch c := lower[0]; {
	case c >= 'a' && c <= 'z', c >= '[' && c <= '_', c == '@':
		return []byte{c & 0x1f}, true
	case c == '?':
		return []byte{0x7f}, true
	case c == '/':
		return []byte{0x1f}, true
	}
	return nil, false
}
