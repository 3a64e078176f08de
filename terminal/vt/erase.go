package vt

// eraseCells erases columns x0 to x1 of a row. Where selective it leaves
// protected cells.
func (t *Terminal) eraseCells(r *row, x0, x1 int, selective bool) {
	if !selective {
		r.fill(x0, x1, t.cols, t.blankCell())
		return
	}
	r.unpack()
	blank := t.blankCell()
	x1 = min(x1, t.cols)
	if blank == (cell{}) {
		x1 = min(x1, len(r.cells)) // past that all is blank already
	}
	for x := x0; x < x1; x++ {
		if r.at(x).attr&protected == 0 {
			r.fill(x, x+1, t.cols, blank)
		}
	}
}

// eraseRow erases a whole row, which then no longer continues the one above.
func (t *Terminal) eraseRow(r *row, selective bool) {
	r.wrapped = false
	t.eraseCells(r, 0, t.cols, selective)
}

func (t *Terminal) eraseDisplay()          { t.eraseInDisplay(false) }
func (t *Terminal) eraseDisplaySelective() { t.eraseInDisplay(true) }
func (t *Terminal) eraseLine()             { t.eraseInLine(false) }
func (t *Terminal) eraseLineSelective()    { t.eraseInLine(true) }

func (t *Terminal) eraseInDisplay(selective bool) {
	t.clampCursor(t.cols)
	rows := t.scr.rows
	switch t.parser.params.get(0) {
	case 0:
		if t.x == 0 {
			t.line().wrapped = false
		}
		t.eraseCells(t.line(), t.x, t.cols, selective)
		for _, r := range rows[t.y+1:] {
			t.eraseRow(r, selective)
		}
	case 1:
		t.line().wrapped = false
		t.eraseCells(t.line(), 0, t.x+1, selective)
		if t.x+1 >= t.cols && t.y+1 < t.rows {
			rows[t.y+1].wrapped = false
		}
		for _, r := range rows[:t.y] {
			t.eraseRow(r, selective)
		}
	case 2:
		for _, r := range rows {
			t.eraseRow(r, selective)
		}
	case 3:
		if !t.onAlt() {
			t.scrollback.clear()
		}
	}
}

func (t *Terminal) eraseInLine(selective bool) {
	t.clampCursor(t.cols)
	r := t.line()
	switch t.parser.params.get(0) {
	case 0:
		if t.x == 0 {
			r.wrapped = false
		}
		t.eraseCells(r, t.x, t.cols, selective)
	case 1:
		t.eraseCells(r, 0, t.x+1, selective)
	case 2:
		r.wrapped = false
		t.eraseCells(r, 0, t.cols, selective)
	}
}

func (t *Terminal) eraseChars() {
	t.endPendingWrap()
	t.eraseCells(t.line(), t.x, t.x+min(t.parser.params.count(0), t.cols), false)
}

// setProtected is DECSCA. Like SGR it is part of the pen.
func (t *Terminal) setProtected() {
	switch t.parser.params.get(0) {
	case 0, 2:
		t.pen.attr &^= protected
	case 1:
		t.pen.attr |= protected
	}
}

// alignmentPattern is DECALN, in the pen's style but for what an extra holds
// and the kind of underline, as in xterm.js.
func (t *Terminal) alignmentPattern() {
	t.moveTo(0, 0)
	c := cell{ch: 'E', attr: t.pen.attr.withUnderline(min(t.pen.attr.underline(), 1))}
	for _, r := range t.scr.rows[t.y:] {
		r.wrapped = false
		r.fill(0, t.cols, t.cols, c)
	}
	t.moveTo(0, 0)
}
