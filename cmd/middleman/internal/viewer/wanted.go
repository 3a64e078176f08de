package viewer

import (
	"bytes"
	"encoding/base64"
	"strings"
)

const (
	// maxWanted is the length in bytes of a text that is kept for the question.
	maxWanted = 64 << 10
	// maxTaken is that length in base64, plus room for the selections.
	maxTaken = maxWanted/3*4 + 64
)

// Wanted is the last text that a program wanted to put into the clipboard, and
// that needs the user's consent.
type Wanted struct {
	Text string
	// Label is the user's name for the program's session.
	Label string
	// TooLong: the text had more than 64 KiB, and was not kept.
	TooLong bool
}

// Command returns the OSC 52 that makes a terminal set the clipboard.
func (w Wanted) Command() string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(w.Text)) + "\a"
}

// take keeps a byte of a removed command if the user will be asked about it.
func (f *clipboardFilter) take(b byte) {
	if f.takes && b >= ' ' && b != 0x7f && len(f.taken) <= maxTaken {
		f.taken = append(f.taken, b)
	}
}

// want ends a removed command. Its text replaces an earlier one.
func (f *clipboardFilter) want() {
	_, data, _ := bytes.Cut(f.taken, []byte(";"))
	if !f.takes || len(data) == 0 || data[0] == '?' {
		return
	}
	if len(f.taken) > maxTaken {
		f.wanted = &Wanted{Label: f.label, TooLong: true}
		return
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(data), "="))
	switch {
	case err != nil || len(text) == 0: // terminals ignore this too
	case len(text) > maxWanted:
		f.wanted = &Wanted{Label: f.label, TooLong: true}
	default:
		f.wanted = &Wanted{Label: f.label, Text: string(text)}
	}
}
