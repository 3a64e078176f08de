package vt

import (
	"slices"
	"strconv"
	"strings"
)

// titles draws the titles, the working directory and the progress.
func (w *snapshotWriter) titles() {
	t := w.t
	for _, title := range t.titleStack {
		w.printf("\x1b]2;%s\x1b\\\x1b[22;2t", title)
	}
	for _, icon := range t.iconStack {
		w.printf("\x1b]1;%s\x1b\\\x1b[22;1t", icon)
	}
	if t.title != "" || len(t.titleStack) > 0 {
		w.printf("\x1b]2;%s\x1b\\", t.title)
	}
	if t.icon != "" || len(t.iconStack) > 0 {
		w.printf("\x1b]1;%s\x1b\\", t.icon)
	}
	if t.directory != "" {
		w.printf("\x1b]7;%s\x1b\\", t.directory)
	}
	if t.progress != (Progress{}) { // a terminal that does not know it may show it as a notification
		w.printf("\x1b]9;4;%s\x1b\\", t.progress)
	}
}

func (w *snapshotWriter) colors() {
	p := &w.t.palette
	for i := range 256 {
		if c, ok := p.indexed[uint8(i)]; ok {
			w.printf("\x1b]4;%d;%s\x1b\\", i, c)
		}
	}
	for i, set := range p.set {
		if set {
			w.printf("\x1b]%d;%s\x1b\\", 10+i, p.special[i])
		}
	}
}

// screenState sets what belongs to the screen in use alone, but its cells.
func (w *snapshotWriter) screenState(s *screen) {
	w.tabs(s)
	w.regions(s)
	if s.saved != defaultSaved {
		w.savedCursor(s)
	}
	w.keys(s.keys)
}

func (w *snapshotWriter) tabs(s *screen) {
	usual := true
	for x := range w.t.cols {
		usual = usual && s.tabs.has(x) == (x%tabWidth == 0)
	}
	if !usual {
		w.print("\x1b[3g")
		for x := range w.t.cols {
			if s.tabs.has(x) {
				w.printf("\x1b[%dG\x1bH", x+1)
			}
		}
	}
	for x := w.t.cols; x < len(s.tabs)*64; x++ {
		if s.tabs.has(x) {
			w.privateDCS("t%d", x)
		}
	}
}

// regions sets scroll region and margins.
func (w *snapshotWriter) regions(s *screen) {
	if s.top != 0 || s.bottom != w.t.rows-1 {
		w.printf("\x1b[%d;%dr", s.top+1, s.bottom+1)
	}
	if s.left != 0 || s.right != w.t.cols-1 {
		w.printf("\x1b[%d;%ds", s.left+1, s.right+1)
	}
}

func (w *snapshotWriter) savedCursor(s *screen) {
	saved := &s.saved
	if saved.origin {
		w.print("\x1b[?6h")
	}
	w.placeCursor(s, saved.x, saved.y, saved.wrapAt, saved.origin)
	w.setPen(saved.pen)
	w.setCharsets(saved.charsets, saved.gl)
	w.print("\x1b7")
	if saved.origin {
		w.print("\x1b[?6l")
	}
	w.setCharsets(asciiCharsets, 0)
}

// placeCursor moves the cursor. Where a wrap is pending, it writes the last
// character again.
func (w *snapshotWriter) placeCursor(s *screen, x, y, wrapAt int, origin bool) {
	pending := x == w.t.cols || wrapAt != 0
	if !pending {
		w.moveTo(s, x, y, origin)
		return
	}
	x--
	c := s.rows[y].at(x)
	if c.spacer() {
		x--
		c = s.rows[y].at(x)
	}
	if !c.content() {
		w.moveTo(s, x, y, origin)
		w.privateDCS("p")
		return
	}
	w.moveTo(s, x, y, origin)
	w.setStyle(c)
	w.cluster(w.t.appendText(nil, c))
}

// moveTo moves the cursor by CUP where CUP can express the position.
func (w *snapshotWriter) moveTo(s *screen, x, y int, origin bool) {
	if !origin {
		w.printf("\x1b[%d;%dH", y+1, x+1)
		return
	}
	if y >= s.top && y <= s.bottom && x >= s.left && x <= s.right {
		w.printf("\x1b[%d;%dH", y-s.top+1, x-s.left+1)
		return
	}
	w.privateDCS("c%d;%d", x, y)
}

// keys sets the kitty keyboard flags and their stack.
func (w *snapshotWriter) keys(k keyStack) {
	flags := append(slices.Clone(k.pushed), k.current)
	if flags[0] != 0 {
		w.printf("\x1b[=%d;1u", flags[0])
	}
	for _, f := range flags[1:] {
		w.printf("\x1b[>%du", f)
	}
}

// alternate draws the alternate screen. Where it is not in use, alternate sets
// only the state that it keeps.
func (w *snapshotWriter) alternate() {
	t := w.t
	s := t.alt
	active := t.onAlt()
	if !active && s.saved == defaultSaved && s.keys.current == 0 && len(s.keys.pushed) == 0 {
		return
	}
	w.setStyle(cell{})
	w.placeCursor(t.main, t.main.inactiveCursor.x, t.main.inactiveCursor.y, 0, false)
	w.setStyle(cell{}) // it is filled with the pen's background
	w.print("\x1b[?1047h\x1b[H")
	if active {
		w.rows(s)
		w.print("\x1b[H")
	}
	w.screenState(s)
	if !active {
		w.print("\x1b[?1047l")
	}
}

// modes sets all modes but those that affect how the cursor is placed.
func (w *snapshotWriter) modes() {
	t := w.t
	for _, m := range ansiModes {
		if m.bit != modeInsert && t.modes.has(m.bit) {
			w.printf("\x1b[%dh", m.number)
		}
	}
	const later = modeOrigin | modeWrap | modeMargins
	for _, m := range privateModes {
		if m.bit&later != 0 || t.modes.has(m.bit) == defaultModes.has(m.bit) {
			continue
		}
		w.privateMode(m.number, t.modes.has(m.bit))
	}
	if t.mouse != mouseOff {
		w.privateMode(int(t.mouse), true)
	}
	if t.encoding != encodingDefault {
		w.privateMode(int(t.encoding), true)
	}
	if t.cursorShape != 0 {
		w.printf("\x1b[%d q", t.cursorShape)
	}
}

func (w *snapshotWriter) privateMode(number int, on bool) {
	if number == keypadMode && on {
		w.print("\x1b=") // more terminals know DECKPAM than DECNKM
		return
	}
	final := 'l'
	if on {
		final = 'h'
	}
	w.printf("\x1b[?%d%c", number, final)
}

// cursor places the cursor and sets the pen and all else that printing depends
// on. Where the next rune may continue the character before the cursor, it
// writes that character last.
func (w *snapshotWriter) cursor() {
	t := w.t
	origin := t.modes.has(modeOrigin)
	if origin {
		w.print("\x1b[?6h")
	}
	text, again := w.lastCluster()
	if !again {
		w.placeCursor(t.scr, t.x, t.y, t.wrapAt, origin)
	}
	w.setPen(t.pen)
	w.setCharsets(t.charsets, t.gl)
	if !t.modes.has(modeWrap) {
		w.print("\x1b[?7l")
	}
	if t.modes.has(modeInsert) {
		w.print("\x1b[4h")
	}
	if again {
		width := int(t.grapheme.width)
		w.moveTo(t.scr, t.x-width, t.y, origin)
		if t.modes.has(modeInsert) {
			// only the first rune inserts columns
			first, _ := graphemeState{}.after(firstRune(text))
			w.printf("\x1b[%dP", first.width)
		}
		w.out = append(w.out, text...)
		return
	}
	if t.singleShift != 0 {
		w.print([...]string{2: "\x1bN", 3: "\x1bO"}[t.singleShift])
	}
	switch {
	case t.grapheme.width == 0 && w.grapheme.width != 0:
		w.print("\x00") // ends the cluster, as in separate
	case t.grapheme.width != 0:
		w.privateDCS("j%d;%d;%d", t.grapheme.class, t.grapheme.width, setOrReset(t.graphemeDropped))
	}
}

// lastCluster returns the text that draws the character before the cursor
// again, so that the next rune continues it. It reports false where there is
// nothing to continue, or where writing the text would not have that effect.
func (w *snapshotWriter) lastCluster() ([]byte, bool) {
	t := w.t
	x := t.x - int(t.grapheme.width)
	if t.grapheme.width == 0 || t.graphemeDropped || x < 0 {
		return nil, false
	}
	if left, right, _ := t.margins(); t.modes.has(modeInsert) && (x < left || x > right) {
		return nil, false // DCH does not take back there what is inserted
	}
	c := t.line().at(x)
	if !c.content() || c.attr != t.pen.attr || c.ext != t.pen.ext || cellWidthOf(c) != int(t.grapheme.width) {
		return nil, false
	}
	var text []byte
	var j graphemeState
	for i, r := range string(t.appendText(nil, c)) {
		next, joined := j.after(r)
		source := untranslate(t.charset(), r)
		if joined != (i > 0) || translate(t.charset(), source) != r {
			return nil, false
		}
		text = append(text, string(source)...)
		j = next
	}
	return text, j == t.grapheme
}

// unfinished appends the sequence or rune that t has seen the beginning of.
func (w *snapshotWriter) unfinished() {
	p := &w.t.parser
	w.out = append(w.out, p.raw...)
	w.out = append(w.out, p.payload...)
	w.out = append(w.out, p.partial[:p.npart]...)
}

// restoreFromSnapshot is DCS = z, for what no usual sequence can express.
//
//	b N      the N columns left of the cursor are blank, in their style
//	c X;Y    the cursor is at X, Y, counted from 0
//	j C;W;D  the next rune may be joined to a character of class C, width W
//	p        the next character wraps
//	t X      there is a tab stop at X, past the last column
//	w        the cursor's line continues the one above
func (t *Terminal) restoreFromSnapshot(data []byte) {
	if len(data) == 0 {
		return
	}
	var n [3]int
	for i, field := range strings.SplitN(string(data[1:]), ";", len(n)) {
		n[i], _ = strconv.Atoi(field)
		n[i] = min(max(n[i], 0), maxCols)
	}
	switch data[0] {
	case 'b':
		r := t.line()
		for x := max(t.x-n[0], 0); x < t.x; x++ {
			c := r.at(x)
			r.fill(x, x+1, t.cols, cell{attr: c.attr, ext: c.ext})
		}
	case 'c':
		t.x, t.y, t.wrapAt = n[0], min(n[1], t.rows-1), 0
		t.x = min(t.x, t.cols-1)
	case 'j':
		t.grapheme = graphemeState{runeProps(n[0]) & gbMask, uint8(min(n[1], 2))}
		t.graphemeDropped = n[2] == modeSet
	case 'p':
		if _, right, set := t.margins(); set && t.x == right {
			t.x++
			t.wrapAt = t.x
		} else {
			t.x = t.cols
		}
	case 't':
		t.scr.tabs.set(n[0], true)
	case 'w':
		t.line().wrapped = true
	}
}
