package viewer

import (
	"bytes"
	"encoding/base64"
	"strings"
)

const (
	// maxWanted bounds a text that is held back until somebody is asked.
	maxWanted = 64 << 10
	// maxTaken is that in base64, and which selections it is for.
	maxTaken = maxWanted/3*4 + 64
)

// Wanted is the last text that a program wanted to put into the clipboard, and
// that waits for a person to agree.
type Wanted struct {
	Text string
	// TooLong: it had more than 64 KiB, and was not kept.
	TooLong bool
}

// Command is the operating system command that makes a terminal do it.
func (w Wanted) Command() string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(w.Text)) + "\a"
}

// take keeps a byte of a command that is left out, where somebody will be asked
// about it.
func (f *clipboardFilter) take(b byte) {
	if f.takes && b >= ' ' && b != 0x7f && len(f.taken) <= maxTaken {
		f.taken = append(f.taken, b)
	}
}

// want ends a command: what it wants replaces what was wanted before.
func (f *clipboardFilter) want() {
	_, data, _ := bytes.Cut(f.taken, []byte(";"))
	if !f.takes || len(data) == 0 || data[0] == '?' {
		return
	}
	if len(f.taken) > maxTaken {
		f.wanted = &Wanted{TooLong: true}
		return
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(data), "="))
	switch {
	case err != nil || len(text) == 0: // terminals set nothing either
	case len(text) > maxWanted:
		f.wanted = &Wanted{TooLong: true}
	default:
		f.wanted = &Wanted{Text: string(text)}
	}
}
