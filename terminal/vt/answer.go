package vt

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

const (
	// versionText is the answer to XTVERSION.
	versionText = "middleman(1)"
	// A cell's size in pixels is not known here; size reports use this one.
	cellWidth, cellHeight = 8, 16
)

// replyf answers a query, if anybody wants answers.
func (t *Terminal) replyf(format string, args ...any) {
	if t.answer == nil || t.silent {
		return
	}
	t.answerBuf = fmt.Appendf(t.answerBuf[:0], format, args...)
	t.answer(t.answerBuf)
}

func (t *Terminal) answerDA1() {
	if t.parser.params.get(0) == 0 {
		t.replyf("\x1b[?1;2c") // a VT100 with advanced video, as xterm.js
	}
}

func (t *Terminal) answerDA2() {
	if t.parser.params.get(0) == 0 {
		t.replyf("\x1b[>0;276;0c") // as xterm.js
	}
}

func (t *Terminal) answerDA3() {
	if t.parser.params.get(0) == 0 {
		t.replyf("\x1bP!|00000000\x1b\\")
	}
}

// position is the cursor as CPR reports it: from 1, relative in origin mode.
func (t *Terminal) position() (col, row int) {
	col, row = min(t.x, t.cols-1), t.y
	if t.modes.has(modeOrigin) {
		row -= t.scr.top
		if left, _, set := t.margins(); set {
			col -= left
		}
	}
	return col + 1, row + 1
}

func (t *Terminal) answerStatus() {
	switch t.parser.params.get(0) {
	case 5:
		t.replyf("\x1b[0n")
	case 6:
		col, row := t.position()
		t.replyf("\x1b[%d;%dR", row, col)
	}
}

func (t *Terminal) answerStatusPrivate() {
	switch t.parser.params.get(0) {
	case 6:
		col, row := t.position()
		t.replyf("\x1b[?%d;%dR", row, col)
	case 15:
		t.replyf("\x1b[?13n") // no printer
	case 25:
		t.replyf("\x1b[?21n") // user-defined keys are locked
	case 26:
		t.replyf("\x1b[?27;1;0;0n") // a North American keyboard
	case 53, 55:
		t.replyf("\x1b[?50n") // no locator
	case 996:
		t.replyf("\x1b[?997;1n") // dark
	}
}

// Values of DECRQM's reply.
const (
	modeUnknown     = 0
	modeSet         = 1
	modeReset       = 2
	modeAlwaysSet   = 3
	modeAlwaysReset = 4
)

func setOrReset(on bool) int {
	if on {
		return modeSet
	}
	return modeReset
}

func (t *Terminal) answerMode() {
	number := t.parser.params.get(0)
	value := modeUnknown
	switch bit := findMode(ansiModes, number); {
	case bit != 0:
		value = setOrReset(t.modes.has(bit))
	case number == 2:
		value = modeAlwaysReset
	case number == 12:
		value = modeAlwaysSet
	}
	t.replyf("\x1b[%d;%d$y", number, value)
}

func (t *Terminal) answerModePrivate() {
	number := t.parser.params.get(0)
	t.replyf("\x1b[?%d;%d$y", number, t.privateModeValue(number))
}

func (t *Terminal) privateModeValue(number int) int {
	if bit := findMode(privateModes, number); bit != 0 {
		return setOrReset(t.modes.has(bit))
	}
	switch number {
	case 9, 1000, 1002, 1003:
		return setOrReset(t.mouse == mouseMode(number))
	case 1005, 1006, 1015, 1016:
		return setOrReset(t.encoding == mouseEncoding(number))
	case 47, 1047, 1049:
		return setOrReset(t.onAlt())
	case 1048:
		return modeSet
	case 8, 2027: // auto-repeat, grapheme clusters
		return modeAlwaysSet
	case 67: // backspace sends DEL
		return modeAlwaysReset
	}
	return modeUnknown
}

func (t *Terminal) answerVersion() {
	if t.parser.params.get(0) == 0 {
		t.replyf("\x1bP>|%s\x1b\\", versionText)
	}
}

func (t *Terminal) answerKeys() { t.replyf("\x1b[?%du", t.scr.keys.current) }

// windowOps is CSI t: the title stack and reports of sizes. Titles are not
// reported, as what a program may set is not to become another's input.
func (t *Terminal) windowOps() {
	p := &t.parser.params
	switch p.get(0) {
	case 14:
		t.replyf("\x1b[4;%d;%dt", t.rows*cellHeight, t.cols*cellWidth)
	case 15:
		t.replyf("\x1b[5;%d;%dt", t.rows*cellHeight, t.cols*cellWidth)
	case 16:
		t.replyf("\x1b[6;%d;%dt", cellHeight, cellWidth)
	case 18:
		t.replyf("\x1b[8;%d;%dt", t.rows, t.cols)
	case 19:
		t.replyf("\x1b[9;%d;%dt", t.rows, t.cols)
	case 20:
		t.replyf("\x1b]L\x1b\\")
	case 21:
		t.replyf("\x1b]l\x1b\\")
	case 22:
		t.pushTitle(p.get(1))
	case 23:
		t.popTitle(p.get(1))
	}
}

// answerSetting is DECRQSS.
func (t *Terminal) answerSetting(data []byte) {
	var value string
	switch string(data) {
	case "m":
		value = string(appendSGR(nil, t.pen.attr, t.extras.value(t.pen.ext).underline))
	case "r":
		value = fmt.Sprintf("%d;%d", t.scr.top+1, t.scr.bottom+1)
	case "s":
		value = fmt.Sprintf("%d;%d", t.scr.left+1, t.scr.right+1)
	case " q":
		value = strconv.Itoa(t.cursorShape)
	case `"q`:
		value = "0"
		if t.pen.attr&protected != 0 {
			value = "1"
		}
	case `"p`:
		value = "61;1"
	default:
		t.replyf("\x1bP0$r\x1b\\")
		return
	}
	t.replyf("\x1bP1$r%s%s\x1b\\", value, data)
}

// termcap is what XTGETTCAP knows.
var termcap = map[string]string{
	"TN": "xterm-256color", "name": "xterm-256color",
	"Co": "256", "colors": "256",
	"RGB": "8/8/8",
}

// answerTermcap is XTGETTCAP: names in hexadecimal, ";" between them. Each is
// answered alone, up to the first that is not known.
func (t *Terminal) answerTermcap(data []byte) {
	for field := range bytes.SplitSeq(data, []byte{';'}) {
		name, err := hex.DecodeString(string(field))
		value, ok := termcap[string(name)]
		if err != nil || !ok {
			t.replyf("\x1bP0+r%s\x1b\\", clip(string(field), 64))
			return
		}
		t.replyf("\x1bP1+r%s=%s\x1b\\", strings.ToUpper(string(field)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	}
}
