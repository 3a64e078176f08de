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

// restrict brings the cursor back onto the screen, and into the scroll region
// in origin mode. maxX is cols where a pending wrap is kept.
func (t *Terminal) restrict(maxX int) {
	t.x = min(max(t.x, 0), maxX)
	top, bottom := 0, t.rows-1
	if t.modes.has(modeOrigin) {
		top, bottom = t.scr.top, t.scr.bottom
	}
	t.y = min(max(t.y, top), bottom)
}

// settle ends a pending wrap and brings the cursor back onto the screen.
func (t *Terminal) settle() {
	if t.wrapAt != 0 {
		t.wrapAt = 0
		t.x--
	}
	t.restrict(t.cols - 1)
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
	t.restrict(t.cols - 1)
}

func (t *Terminal) cursorUp() {
	t.settle()
	n := t.parser.params.count(0)
	if t.y >= t.scr.top {
		n = min(n, t.y-t.scr.top)
	}
	t.y -= n
	t.restrict(t.cols - 1)
}

func (t *Terminal) cursorDown() {
	t.settle()
	n := t.parser.params.count(0)
	if t.y <= t.scr.bottom {
		n = min(n, t.scr.bottom-t.y)
	}
	t.y += n
	t.restrict(t.cols - 1)
}

func (t *Terminal) cursorForward() {
	t.settle()
	n := t.parser.params.count(0)
	if _, right, _ := t.margins(); t.x <= right {
		n = min(n, right-t.x)
	}
	t.x += n
	t.restrict(t.cols - 1)
}

func (t *Terminal) cursorBackward() {
	t.settle()
	n := t.parser.params.count(0)
	if left, _, _ := t.margins(); t.x >= left {
		n = min(n, t.x-left)
	}
	t.x -= n
	t.restrict(t.cols - 1)
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
	t.restrict(t.cols - 1)
}

func (t *Terminal) cursorRow() {
	x := min(t.x, t.cols-1)
	t.moveTo(0, t.parser.params.count(0)-1)
	t.x = x
}

func (t *Terminal) cursorRowRelative() {
	t.settle()
	t.y += min(t.parser.params.count(0), t.rows)
	t.restrict(t.cols - 1)
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

// backspace moves left; in reverse wrap mode from the first column to the end
// of the line that this one continues.
func (t *Terminal) backspace() {
	left, _, _ := t.margins()
	if !t.modes.has(modeReverseWrap) {
		t.settle()
		if t.x > 0 && t.x != left {
			t.x--
		}
		return
	}
	t.wrapAt = 0
	t.restrict(t.cols)
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
	t.restrict(t.cols - 1)
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
	t.restrict(t.cols)
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
