package vt

// modes is the set of modes that are on.
type modes uint32

const (
	modeInsert         modes = 1 << iota // IRM
	modeNewLine                          // LNM
	modeCursorKeys                       // DECCKM
	modeReverseVideo                     // DECSCNM
	modeOrigin                           // DECOM
	modeWrap                             // DECAWM
	modeCursorBlink                      //
	modeCursorVisible                    // DECTCEM
	modeReverseWrap                      //
	modeKeypad                           // DECNKM, DECKPAM
	modeMargins                          // DECLRMM
	modeFocus                            //
	modeAltScroll                        //
	modeBracketedPaste                   //
	modeSynchronized                     //
	modeColorScheme                      // reports of a change between light and dark

	defaultModes = modeWrap | modeCursorVisible
)

func (m modes) has(mode modes) bool { return m&mode != 0 }

func (m *modes) set(mode modes, on bool) {
	if on {
		*m |= mode
	} else {
		*m &^= mode
	}
}

type mouseMode uint16

// The value is the mode's number.
const (
	mouseOff    mouseMode = 0
	mouseX10    mouseMode = 9
	mouseNormal mouseMode = 1000
	mouseDrag   mouseMode = 1002
	mouseAny    mouseMode = 1003
)

type mouseEncoding uint16

const (
	encodingDefault mouseEncoding = 0
	encodingUTF8    mouseEncoding = 1005
	encodingSGR     mouseEncoding = 1006
	encodingURXVT   mouseEncoding = 1015
	encodingPixels  mouseEncoding = 1016
)

// modeInfo says what a mode's number stands for.
type modeInfo struct {
	number int
	bit    modes
	name   string // for Frame
}

var ansiModes = []modeInfo{
	{4, modeInsert, "insert"},
	{20, modeNewLine, "new-line"},
}

// keypadMode is DECNKM.
const keypadMode = 66

// privateModes are those that only set a bit. The others are in
// setPrivateMode.
var privateModes = []modeInfo{
	{1, modeCursorKeys, "application-cursor-keys"},
	{5, modeReverseVideo, "reverse-video"},
	{6, modeOrigin, "origin"},
	{7, modeWrap, "wrap"},
	{12, modeCursorBlink, "cursor-blink"},
	{25, modeCursorVisible, "cursor-visible"},
	{45, modeReverseWrap, "reverse-wrap"},
	{keypadMode, modeKeypad, "application-keypad"},
	{69, modeMargins, "margins"},
	{1004, modeFocus, "focus"},
	{1007, modeAltScroll, "alternate-scroll"},
	{2004, modeBracketedPaste, "bracketed-paste"},
	{2026, modeSynchronized, "synchronized-output"},
	{2031, modeColorScheme, "color-scheme-reports"},
}

func findMode(list []modeInfo, number int) modes {
	for _, m := range list {
		if m.number == number {
			return m.bit
		}
	}
	return 0
}

func (t *Terminal) setANSIModes(on bool) {
	p := &t.parser.params
	for i := range p.n {
		t.modes.set(findMode(ansiModes, p.get(i)), on)
	}
}

func (t *Terminal) setPrivateModes(on bool) {
	p := &t.parser.params
	for i := range p.n {
		t.setPrivateMode(p.get(i), on)
	}
}

func (t *Terminal) setPrivateMode(number int, on bool) {
	bit := findMode(privateModes, number)
	t.modes.set(bit, on)
	switch number {
	case 2:
		if on {
			t.charsets = asciiCharsets
		}
	case 6:
		t.moveTo(0, 0)
	case 69:
		t.main.left, t.main.right = 0, t.cols-1
		t.alt.left, t.alt.right = 0, t.cols-1
		t.wrapAt = 0
	case 9, 1000, 1002, 1003:
		t.mouse = mouseOff
		if on {
			t.mouse = mouseMode(number)
		}
	case 1005, 1006, 1015, 1016:
		t.encoding = encodingDefault
		if on {
			t.encoding = mouseEncoding(number)
		}
	case 47, 1047:
		t.switchScreen(on)
	case 1048:
		t.saveOrRestore(on)
	case 1049:
		if on {
			t.saveCursor()
		}
		t.switchScreen(on)
		if !on {
			t.restoreCursor()
		}
	}
}

func (t *Terminal) saveOrRestore(save bool) {
	if save {
		t.saveCursor()
	} else {
		t.restoreCursor()
	}
}

// switchScreen goes to the alternate screen or back. The alternate one is
// blank whenever it is entered; the cursor stays where it is.
func (t *Terminal) switchScreen(alt bool) {
	if alt == t.onAlt() {
		return
	}
	for _, r := range t.alt.rows {
		r.reset(t.cols, cell{})
	}
	t.alt.resetMargins(t.cols, t.rows)
	t.alt.tabs.reset(t.cols)
	if !alt {
		t.scr = t.main
		t.main.inactiveCursor = point{}
		return
	}
	t.scr = t.alt
	t.main.inactiveCursor = point{t.x, t.y}
	for _, r := range t.alt.rows {
		r.reset(t.cols, t.blankCell())
	}
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	keep := t.modes & (modeNewLine | modeCursorBlink | modeReverseVideo | modeAltScroll | modeColorScheme)
	t.modes = defaultModes | keep
	t.scr.resetMargins(t.cols, t.rows)
	t.wrapAt = 0
	t.pen = pen{}
	t.resetCharsets()
	t.cursorShape = 0
	t.scr.saved = defaultSaved
	t.scr.keys = keyStack{}
}

// hardReset is RIS. Titles and working directory stay.
func (t *Terminal) hardReset() {
	t.reset()
	t.titleStack, t.iconStack = nil, nil
	if t.progress != (Progress{}) {
		t.progress = Progress{}
		t.emit(EventProgress, t.progress.String(), "")
	}
}

const (
	maxKeyStack  = 16
	allKeyFlags  = 31
	keyFlagsSet  = 1
	keyFlagsAdd  = 2
	keyFlagsDrop = 3
)

// keyStack is the kitty keyboard protocol's stack of flags, one for each
// screen. The zero value is an empty stack with no flag set.
type keyStack struct {
	current uint8
	pushed  []uint8 // what a pop brings back, the newest last
}

// pushKeys drops the oldest entry where the stack is full.
func (t *Terminal) pushKeys() {
	k := &t.scr.keys
	if len(k.pushed) == maxKeyStack {
		copy(k.pushed, k.pushed[1:])
		k.pushed = k.pushed[:maxKeyStack-1]
	}
	k.pushed = append(k.pushed, k.current)
	k.current = uint8(t.parser.params.get(0) & allKeyFlags)
}

// popKeys resets all flags where more is popped than was pushed.
func (t *Terminal) popKeys() {
	k := &t.scr.keys
	n := t.parser.params.count(0)
	if n > len(k.pushed) {
		*k = keyStack{}
		return
	}
	k.current = k.pushed[len(k.pushed)-n]
	k.pushed = k.pushed[:len(k.pushed)-n]
}

func (t *Terminal) setKeys() {
	k := &t.scr.keys
	flags := uint8(t.parser.params.get(0) & allKeyFlags)
	switch t.parser.params.count(1) {
	case keyFlagsSet:
		k.current = flags
	case keyFlagsAdd:
		k.current |= flags
	case keyFlagsDrop:
		k.current &^= flags
	}
}
