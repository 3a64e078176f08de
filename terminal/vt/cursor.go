package vt

// savedCursor is what DECSC saves.
type savedCursor struct {
	set      bool // false is home in the initial state
	x, y     int
	wrapAt   int
	pen      pen
	charsets [4]byte
	gl       int
	origin   bool
}

var defaultSaved = savedCursor{charsets: asciiCharsets}

// clampCursor moves the cursor onto the screen, and in origin mode into the
// scroll region. maxX is the last column, or cols to keep a pending wrap.
func (t *Terminal) clampCursor(maxX int) {
	t.x = min(max(t.x, 0), maxX)
	top, bottom := 0, t.rows-1
	if t.modes.has(modeOrigin) {
		top, bottom = t.scr.top, t.scr.bottom
	}
	t.y = min(max(t.y, top), bottom)
}

// endPendingWrap cancels a pending wrap: the cursor is then on the last column
// that was written.
func (t *Terminal) endPendingWrap() {
	if t.wrapAt != 0 {
		t.wrapAt = 0
		t.x--
	}
	t.clampCursor(t.cols - 1)
}

// moveTo places the cursor, relative to the region in origin mode.
func (t *Terminal) moveTo(x, y int) {
	t.wrapAt = 0
	if t.modes.has(modeOrigin) {
		y += t.scr.top
		if left, right, set := t.margins(); set {
			x = min(x+left, right)
		}
	}
	t.x, t.y = x, y
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorUp() {
	t.endPendingWrap()
	n := t.parser.params.count(0)
	if t.y >= t.scr.top {
		n = min(n, t.y-t.scr.top)
	}
	t.y -= n
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorDown() {
	t.endPendingWrap()
	n := t.parser.params.count(0)
	if t.y <= t.scr.bottom {
		n = min(n, t.scr.bottom-t.y)
	}
	t.y += n
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorForward() {
	t.endPendingWrap()
	n := t.parser.params.count(0)
	if _, right, _ := t.margins(); t.x <= right {
		n = min(n, right-t.x)
	}
	t.x += n
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorBackward() {
	t.endPendingWrap()
	n := t.parser.params.count(0)
	if left, _, _ := t.margins(); t.x >= left {
		n = min(n, t.x-left)
	}
	t.x -= n
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorNextLine() {
	t.cursorDown()
	t.carriageReturn()
}

func (t *Terminal) cursorPrecedingLine() {
	t.cursorUp()
	t.carriageReturn()
}

func (t *Terminal) cursorColumn() {
	y := t.y
	t.moveTo(t.parser.params.count(0)-1, 0)
	t.y = y
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorRow() {
	x := min(t.x, t.cols-1)
	t.moveTo(0, t.parser.params.count(0)-1)
	t.x = x
}

func (t *Terminal) cursorRowRelative() {
	t.endPendingWrap()
	t.y += min(t.parser.params.count(0), t.rows)
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) cursorPosition() {
	t.moveTo(t.parser.params.count(1)-1, t.parser.params.count(0)-1)
}

func (t *Terminal) carriageReturn() {
	t.wrapAt = 0
	left, _, set := t.margins()
	if set && (t.x >= left || t.modes.has(modeOrigin)) {
		t.x = left
		return
	}
	t.x = 0
}

// backspace moves the cursor left. In reverse wrap mode it goes from the first
// column of a wrapped line to the end of the line above.
func (t *Terminal) backspace() {
	left, _, _ := t.margins()
	if !t.modes.has(modeReverseWrap) {
		t.endPendingWrap()
		if t.x > 0 && t.x != left {
			t.x--
		}
		return
	}
	t.wrapAt = 0
	t.clampCursor(t.cols)
	switch {
	case t.x > 0:
		t.x--
	case t.y > t.scr.top && t.y <= t.scr.bottom && t.line().wrapped:
		t.line().wrapped = false
		t.y--
		t.x = t.cols - 1
		if c := t.line().at(t.x); c.blank() {
			t.x--
		}
	}
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) saveCursor() {
	t.scr.saved = savedCursor{
		set: true,
		x:   t.x, y: t.y, wrapAt: t.wrapAt,
		pen:      t.pen,
		charsets: t.charsets, gl: t.gl,
		origin: t.modes.has(modeOrigin),
	}
}

func (t *Terminal) restoreCursor() {
	s := &t.scr.saved
	t.x, t.y, t.wrapAt = s.x, s.y, s.wrapAt
	link := t.extras.value(t.pen.ext)
	t.pen = s.pen
	t.setExtra(func(e *extra) { e.id, e.uri = link.id, link.uri }) // not saved
	t.charsets, t.gl = s.charsets, s.gl
	t.modes.set(modeOrigin, s.origin)
	t.clampCursor(t.cols)
}

// saveCursorOrMargins is DECSLRM while margins are enabled, else SCOSC.
func (t *Terminal) saveCursorOrMargins() {
	if !t.modes.has(modeMargins) {
		t.saveCursor()
		return
	}
	p := &t.parser.params
	left, right := p.count(0), p.get(1)
	if right == 0 || right > t.cols {
		right = t.cols
	}
	if left < right {
		t.scr.left, t.scr.right = left-1, right-1
		t.moveTo(0, 0)
	}
}

func (t *Terminal) setCursorShape() {
	if shape := t.parser.params.get(0); shape <= 6 {
		t.cursorShape = shape
	}
}

const tabWidth = 8

// tabs is the set of columns with a tab stop.
type tabs []uint64

func (s tabs) has(x int) bool { return x>>6 < len(s) && s[x>>6]>>(x&63)&1 != 0 }

func (s *tabs) set(x int, on bool) {
	for x>>6 >= len(*s) {
		if !on {
			return
		}
		*s = append(*s, 0)
	}
	if on {
		(*s)[x>>6] |= 1 << (x & 63)
	} else {
		(*s)[x>>6] &^= 1 << (x & 63)
	}
}

// reset sets a stop every eight columns.
func (s *tabs) reset(cols int) {
	clear(*s)
	for x := 0; x < cols; x += tabWidth {
		s.set(x, true)
	}
}

// resize adds stops after the last one, up to the new width. Stops past the
// last column are kept for a wider screen.
func (s *tabs) resize(cols int) {
	x := cols - 1
	for x > 0 && !s.has(x) {
		x--
	}
	for ; x < cols; x += tabWidth {
		s.set(x, true)
	}
}

// next is the column that a tab at x goes to: the last one if there is no
// stop.
func (s tabs) next(x, cols int) int {
	for x++; x < cols; x++ {
		if s.has(x) {
			return x
		}
	}
	return cols - 1
}

func (s tabs) previous(x int) int {
	for x--; x > 0; x-- {
		if s.has(x) {
			return x
		}
	}
	return 0
}

func (t *Terminal) tab() {
	if t.x < t.cols {
		t.tabTo(1)
	}
}

// tabTo moves n stops forward, not past the right margin.
func (t *Terminal) tabTo(n int) {
	t.wrapAt = 0
	_, right, _ := t.margins()
	end := right + 1
	if t.x > right {
		end = t.cols
	}
	for i := 0; i < n && t.x < end-1; i++ {
		t.x = t.scr.tabs.next(t.x, end)
	}
}

func (t *Terminal) tabForward() {
	if t.x < t.cols {
		t.tabTo(t.parser.params.count(0))
	}
}

func (t *Terminal) tabBackward() {
	if t.x >= t.cols {
		return
	}
	t.wrapAt = 0
	for i := 0; i < t.parser.params.count(0) && t.x > 0; i++ {
		t.x = t.scr.tabs.previous(t.x)
	}
}

func (t *Terminal) setTab() {
	if t.x < t.cols {
		t.scr.tabs.set(t.x, true)
	}
}

func (t *Terminal) clearTab() {
	switch t.parser.params.get(0) {
	case 0:
		t.scr.tabs.set(t.x, false)
	case 3:
		clear(t.scr.tabs)
	}
}
