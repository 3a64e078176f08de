package viewer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"middleman/terminal/escape"
)

// resetModes returns a terminal from any state in which a program can leave it
// to the usual one. It neither clears the screen nor moves the cursor. It
// begins with ST, which ends an incomplete string.
const resetModes = "\x1b\\" +
	"\x1b7\x1b[r\x1b[?69l\x1b8" + // margins; resetting them moves the cursor
	"\x1b[4l\x1b[20l\x1b[?7h\x1b[?45l" + // insert, newline, wrap, reverse wrap
	"\x1b[?1l\x1b>" + // cursor keys and keypad
	"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l" + // mouse
	"\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1007l" +
	"\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?2031l\x1b[?2048l" + // focus, paste, synchronized output, reports
	"\x1b[<99u\x1b[>4m" + // keyboards: kitty's, modifyOtherKeys
	"\x1b[?5l\x1b[?12l\x1b[?25h\x1b[0 q" + // reverse video, the cursor
	"\x1b]8;;\x1b\\\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\" + // hyperlink, colours
	"\x1b[0m\x1b(B\x1b)B\x0f" // rendition and character sets

const (
	// leaveAlternate returns to the main screen and restores its cursor.
	leaveAlternate = "\x1b[?1049l"
	// leaveOrigin makes rows count from the top again. That moves the cursor to
	// the top, so it is put on the last row.
	leaveOrigin = "\x1b[?6l\x1b[999;1H"
	// progress begins what reports progress (OSC 9;4), and noProgress ends it.
	progress   = "\x1b]9;4;"
	noProgress = progress + "0" + stringEnd
	// pushTitle and popTitle save and restore the terminal's title.
	pushTitle = "\x1b[22;0t"
	popTitle  = "\x1b[23;0t"
)

// restore returns what to write when a session is left. After it the user's
// output continues below what the program has drawn.
func (t *screenTracker) restore() string {
	text, end := t.suspend(), "\r\n\x1b[J"
	if t.alternate {
		end = "\r\x1b[J"
	}
	return text + end
}

// suspend returns what to write before another screen is shown for a while.
func (t *screenTracker) suspend() string {
	text := resetModes
	if t.alternate {
		text = leaveAlternate + text
	}
	if t.origin {
		text += leaveOrigin
	}
	if t.progress { // a terminal that does not know it may show it as a notification
		text += noProgress
	}
	return text
}

// clear returns what to write before a snapshot, which needs a freshly reset
// terminal.
func (t *screenTracker) clear() string {
	// Tab stops every 8 columns; the final ESC 7 replaces the cursor that
	// resetModes saved.
	text := t.suspend() + "\x1b[?6l\x1b[?5W\x1b[H\x1b[2J\x1b7"
	t.alternate, t.origin, t.progress = false, false, false
	return text
}

// scrollAway moves the content of a screen with that many rows into the
// scrollback, where the user finds it again.
func scrollAway(rows int) string {
	return fmt.Sprintf("\x1b[%d;1H%s", rows, strings.Repeat("\n", rows))
}

// screenTracker follows the modes of a terminal that can only be left once, or
// that move the cursor when they are left.
type screenTracker struct {
	split     escape.Splitter
	alternate bool   // the alternate screen is on
	origin    bool   // rows count from the top margin
	progress  bool   // a progress shows
	tail      []byte // the last bytes that were observed
}

func newScreenTracker() *screenTracker {
	t := &screenTracker{}
	t.split.Text = func([]byte) {}
	t.split.Sequence = t.sequence
	return t
}

func (t *screenTracker) observe(p []byte) {
	t.split.Write(p)
	t.tail = append(t.tail[:0], p[max(0, len(p)-utf8.UTFMax):]...)
}

// between reports whether the output so far ends neither within a sequence nor
// within a character.
func (t *screenTracker) between() bool {
	if !t.split.InText() {
		return false
	}
	for n := 1; n <= len(t.tail) && n < utf8.UTFMax; n++ {
		if last := t.tail[len(t.tail)-n:]; utf8.RuneStart(last[0]) {
			return utf8.FullRune(last)
		}
	}
	return true
}

func (t *screenTracker) sequence(p []byte, whole bool) {
	switch {
	case !whole || len(p) < 2:
		return
	case string(p) == "\x1bc": // RIS
		t.alternate, t.origin = false, false
		return
	case string(p) == "\x1b[!p": // DECSTR
		t.origin = false
		return
	case bytes.HasPrefix(p, []byte(progress)):
		t.progress = !bytes.HasPrefix(p[len(progress):], []byte("0"))
		return
	case len(p) < 5 || p[1] != '[' || p[2] != '?':
		return
	}
	last := len(p) - 1
	if p[last] != 'h' && p[last] != 'l' {
		return
	}
	for mode := range bytes.SplitSeq(p[3:last], []byte(";")) {
		switch string(bytes.TrimLeft(mode, "0")) {
		case "47", "1047", "1049":
			t.alternate = p[last] == 'h'
		case "6":
			t.origin = p[last] == 'h'
		}
	}
}
