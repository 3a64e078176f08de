package vt

import (
	"strings"
	"sync"
)

// sequence is one line of the table: how a sequence is written, its name, and
// the function that implements it. Its parameters are in t.parser.params.
type sequence struct {
	form string // "CSI ? h": prefix, intermediates and final byte; "SP" is a space
	name string
	run  func(*Terminal)
}

// sequences lists every control function but OSC and DCS, which follow.
var sequences = []sequence{
	// control characters
	{"BEL", "bell", (*Terminal).bell},
	{"BS", "backspace", (*Terminal).backspace},
	{"HT", "tab", (*Terminal).tab},
	{"LF", "line feed", (*Terminal).lineFeed},
	{"VT", "line feed", (*Terminal).lineFeed},
	{"FF", "line feed", (*Terminal).lineFeed},
	{"CR", "carriage return", (*Terminal).carriageReturn},
	{"SO", "LS1: G1 into GL", func(t *Terminal) { t.gl = 1 }},
	{"SI", "LS0: G0 into GL", func(t *Terminal) { t.gl = 0 }},

	// cursor.go
	{"CSI A", "CUU: up", (*Terminal).cursorUp},
	{"CSI B", "CUD: down", (*Terminal).cursorDown},
	{"CSI C", "CUF: forward", (*Terminal).cursorForward},
	{"CSI D", "CUB: backward", (*Terminal).cursorBackward},
	{"CSI E", "CNL: next line", (*Terminal).cursorNextLine},
	{"CSI F", "CPL: preceding line", (*Terminal).cursorPrecedingLine},
	{"CSI G", "CHA: column", (*Terminal).cursorColumn},
	{"CSI `", "HPA: column", (*Terminal).cursorColumn},
	{"CSI a", "HPR: column, relative", (*Terminal).cursorForward},
	{"CSI d", "VPA: row", (*Terminal).cursorRow},
	{"CSI e", "VPR: row, relative", (*Terminal).cursorRowRelative},
	{"CSI H", "CUP: position", (*Terminal).cursorPosition},
	{"CSI f", "HVP: position", (*Terminal).cursorPosition},
	{"ESC 7", "DECSC: save cursor", (*Terminal).saveCursor},
	{"ESC 8", "DECRC: restore cursor", (*Terminal).restoreCursor},
	{"CSI s", "SCOSC: save cursor, or DECSLRM: margins", (*Terminal).saveCursorOrMargins},
	{"CSI u", "SCORC: restore cursor", (*Terminal).restoreCursor},
	{"CSI SP q", "DECSCUSR: cursor shape", (*Terminal).setCursorShape},

	// cursor.go: tabs
	{"ESC H", "HTS: set tab stop", (*Terminal).setTab},
	{"CSI g", "TBC: clear tab stops", (*Terminal).clearTab},
	{"CSI I", "CHT: forward by tabs", (*Terminal).tabForward},
	{"CSI Z", "CBT: backward by tabs", (*Terminal).tabBackward},

	// erase.go
	{"CSI J", "ED: erase in display", (*Terminal).eraseDisplay},
	{"CSI ? J", "DECSED: erase what is not protected", (*Terminal).eraseDisplaySelective},
	{"CSI K", "EL: erase in line", (*Terminal).eraseLine},
	{"CSI ? K", "DECSEL: erase what is not protected", (*Terminal).eraseLineSelective},
	{"CSI X", "ECH: erase characters", (*Terminal).eraseChars},
	{"CSI \" q", "DECSCA: protect characters", (*Terminal).setProtected},
	{"ESC # 8", "DECALN: fill with E", (*Terminal).alignmentPattern},

	// scroll.go
	{"ESC D", "IND: index", (*Terminal).index},
	{"ESC E", "NEL: next line", (*Terminal).nextLine},
	{"ESC M", "RI: reverse index", (*Terminal).reverseIndex},
	{"CSI L", "IL: insert lines", (*Terminal).insertLines},
	{"CSI M", "DL: delete lines", (*Terminal).deleteLines},
	{"CSI @", "ICH: insert characters", (*Terminal).insertChars},
	{"CSI P", "DCH: delete characters", (*Terminal).deleteChars},
	{"CSI S", "SU: scroll up", (*Terminal).scrollUp},
	{"CSI T", "SD: scroll down", (*Terminal).scrollDown},
	{"CSI SP @", "SL: scroll left", (*Terminal).scrollLeft},
	{"CSI SP A", "SR: scroll right", (*Terminal).scrollRight},
	{"CSI ' }", "DECIC: insert columns", (*Terminal).insertColumns},
	{"CSI ' ~", "DECDC: delete columns", (*Terminal).deleteColumns},
	{"CSI r", "DECSTBM: scroll region", (*Terminal).setScrollRegion},

	// print.go, sgr.go
	{"CSI b", "REP: repeat the last character", (*Terminal).repeat},
	{"CSI m", "SGR: style", (*Terminal).selectGraphics},

	// charset.go; the designations are added by addDesignations
	{"ESC n", "LS2: G2 into GL", func(t *Terminal) { t.gl = 2 }},
	{"ESC o", "LS3: G3 into GL", func(t *Terminal) { t.gl = 3 }},
	{"ESC |", "LS3R, as LS3", func(t *Terminal) { t.gl = 3 }},
	{"ESC }", "LS2R, as LS2", func(t *Terminal) { t.gl = 2 }},
	{"ESC ~", "LS1R, as LS1", func(t *Terminal) { t.gl = 1 }},
	{"ESC N", "SS2: G2 for one character", func(t *Terminal) { t.singleShift = 2 }},
	{"ESC O", "SS3: G3 for one character", func(t *Terminal) { t.singleShift = 3 }},
	{"ESC % @", "default character set", (*Terminal).defaultCharset},
	{"ESC % G", "UTF-8", (*Terminal).defaultCharset},

	// mode.go
	{"CSI h", "SM: set modes", func(t *Terminal) { t.setANSIModes(true) }},
	{"CSI l", "RM: reset modes", func(t *Terminal) { t.setANSIModes(false) }},
	{"CSI ? h", "DECSET: set private modes", func(t *Terminal) { t.setPrivateModes(true) }},
	{"CSI ? l", "DECRST: reset private modes", func(t *Terminal) { t.setPrivateModes(false) }},
	{"ESC =", "DECKPAM: application keypad", func(t *Terminal) { t.modes.set(modeKeypad, true) }},
	{"ESC >", "DECKPNM: numeric keypad", func(t *Terminal) { t.modes.set(modeKeypad, false) }},
	{"CSI ! p", "DECSTR: soft reset", (*Terminal).softReset},
	{"ESC c", "RIS: hard reset", (*Terminal).hardReset},

	// mode.go: the keyboard
	{"CSI > u", "push kitty keyboard flags", (*Terminal).pushKeys},
	{"CSI < u", "pop kitty keyboard flags", (*Terminal).popKeys},
	{"CSI = u", "set kitty keyboard flags", (*Terminal).setKeys},

	// answer.go
	{"CSI c", "DA1", (*Terminal).answerDA1},
	{"ESC Z", "DECID, as DA1", (*Terminal).answerDA1},
	{"CSI > c", "DA2", (*Terminal).answerDA2},
	{"CSI = c", "DA3", (*Terminal).answerDA3},
	{"CSI n", "DSR: status, cursor position", (*Terminal).answerStatus},
	{"CSI ? n", "DSR, private", (*Terminal).answerStatusPrivate},
	{"CSI $ p", "DECRQM: is a mode set", (*Terminal).answerMode},
	{"CSI ? $ p", "DECRQM: is a private mode set", (*Terminal).answerModePrivate},
	{"CSI > q", "XTVERSION", (*Terminal).answerVersion},
	{"CSI ? u", "kitty keyboard flags", (*Terminal).answerKeys},
	{"CSI t", "XTWINOPS: title stack, size reports", (*Terminal).windowOps},
}

// oscTable lists the OSC by their number. The data is what follows the first
// ";".
var oscTable = map[int]func(t *Terminal, data string){
	0:   (*Terminal).setTitleAndIcon,
	1:   (*Terminal).setIcon,
	2:   (*Terminal).setTitle,
	4:   (*Terminal).setPalette,
	7:   (*Terminal).setDirectory,
	8:   (*Terminal).setHyperlink,
	9:   (*Terminal).notifyOrProgress,
	10:  func(t *Terminal, data string) { t.setSpecialColors(0, data) },
	11:  func(t *Terminal, data string) { t.setSpecialColors(1, data) },
	12:  func(t *Terminal, data string) { t.setSpecialColors(2, data) },
	52:  (*Terminal).clipboard,
	99:  (*Terminal).notifyKitty,
	104: (*Terminal).resetPalette,
	110: func(t *Terminal, _ string) { t.palette.resetSpecial(0) },
	111: func(t *Terminal, _ string) { t.palette.resetSpecial(1) },
	112: func(t *Terminal, _ string) { t.palette.resetSpecial(2) },
	133: (*Terminal).promptMark,
	777: (*Terminal).notifyRxvt,
}

// dcsTable lists the DCS by prefix, intermediates and final byte.
var dcsTable = map[uint32]func(t *Terminal, data []byte){
	key("$q"): (*Terminal).answerSetting,       // DECRQSS
	key("+q"): (*Terminal).answerTermcap,       // XTGETTCAP
	key("=z"): (*Terminal).restoreFromSnapshot, // ours, see snapshot.go
}

// key packs the bytes that tell sequences apart.
func key(s string) uint32 {
	var k uint32
	for _, b := range []byte(s) {
		k = k<<8 | uint32(b)
	}
	return k
}

var (
	controlTable [0x20]func(*Terminal)
	plainCSI     [0x80]func(*Terminal) // those of a final byte alone
	csiTable     = map[uint32]func(*Terminal){}
	escapeTable  = map[uint32]func(*Terminal){}
)

// buildTables fills the tables, once. It is not an init, which each command line
// would pay for.
var buildTables = sync.OnceFunc(func() {
	controls := map[string]byte{"BEL": 7, "BS": 8, "HT": 9, "LF": 10, "VT": 11, "FF": 12, "CR": 13, "SO": 14, "SI": 15}
	spaces := strings.NewReplacer("SP", " ", " ", "")
	for _, s := range sequences {
		kind, rest, _ := strings.Cut(s.form, " ")
		k := key(spaces.Replace(rest))
		switch kind {
		case "CSI":
			csiTable[k] = s.run
			if k < 0x80 {
				plainCSI[k] = s.run
			}
		case "ESC":
			escapeTable[k] = s.run
		default:
			controlTable[controls[kind]] = s.run
		}
	}
	addDesignations(escapeTable)
})

// execute runs a control character. Like every control function it ends the
// cluster before the cursor.
func (t *Terminal) execute(b byte) {
	if run := controlTable[b]; run != nil {
		run(t)
	}
	t.endGrapheme()
}

func (t *Terminal) dispatchEscape(key uint32) {
	if key == '\\' {
		return // ST: the string has ended at its ESC
	}
	if run := escapeTable[key]; run != nil {
		run(t)
	}
	t.endGrapheme()
}

func (t *Terminal) dispatchCSI(final byte) {
	if t.parser.collect == 0 {
		if run := plainCSI[final]; run != nil {
			run(t)
		}
	} else if run := csiTable[t.parser.collect<<8|uint32(final)]; run != nil {
		run(t)
	}
	t.endGrapheme()
}

func (t *Terminal) dispatchCSIKey(key uint32) {
	if run := csiTable[key]; run != nil {
		run(t)
	}
	t.endGrapheme()
}

func (t *Terminal) dispatchOSC(payload []byte) {
	n, i := 0, 0
	for ; i < len(payload) && payload[i] != ';'; i++ {
		n = n*10 + int(payload[i]-'0')
	}
	if i == 0 {
		return
	}
	if run := oscTable[n]; run != nil {
		run(t, string(payload[min(i+1, len(payload)):]))
	}
}
