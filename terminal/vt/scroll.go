package vt

// scroll moves the scroll region up by one line. What leaves the top of the
// main screen goes to the scrollback.
func (t *Terminal) scroll() {
	s := t.scr
	if s.top == 0 && !t.onAlt() {
		t.addToScrollback(s.rows[0])
	}
	t.shiftUp(s.top, s.bottom, 1, t.blankCell())
}

// shiftUp moves the rows top to bottom up by n and fills the n rows at the
// bottom.
func (t *Terminal) shiftUp(top, bottom, n int, fill cell) {
	rows := t.scr.rows
	if n == 1 {
		r := rows[top]
		copy(rows[top:bottom], rows[top+1:bottom+1])
		rows[bottom] = r
		r.reset(t.cols, fill)
		return
	}
	n = min(n, bottom-top+1)
	rotate(rows[top:bottom+1], n)
	for _, r := range rows[bottom+1-n : bottom+1] {
		r.reset(t.cols, fill)
	}
}

func (t *Terminal) shiftDown(top, bottom, n int, fill cell) {
	rows := t.scr.rows
	n = min(n, bottom-top+1)
	rotate(rows[top:bottom+1], bottom-top+1-n)
	for _, r := range rows[top : top+n] {
		r.reset(t.cols, fill)
	}
}

// rotate moves the first n rows to the end.
func rotate(rows []*row, n int) {
	reverse(rows[:n])
	reverse(rows[n:])
	reverse(rows)
}

func reverse(rows []*row) {
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
}

// shift moves the rows top to bottom up by n, or down by -n: only the columns
// within the margins where margins are set, else whole rows.
func (t *Terminal) shift(top, bottom, n int, fill cell) {
	left, right, set := t.margins()
	switch {
	case set:
		t.shiftRect(top, bottom, left, right, n, fill)
	case n > 0:
		t.shiftUp(top, bottom, n, fill)
	default:
		t.shiftDown(top, bottom, -n, fill)
	}
}

// shiftRect moves the cells of a rectangle up by n, or down if negative.
func (t *Terminal) shiftRect(top, bottom, left, right, n int, fill cell) {
	height := bottom - top + 1
	n = min(max(n, -height), height)
	y, end, step := top, bottom+1, 1
	if n < 0 {
		y, end, step = bottom, top-1, -1
	}
	for ; y != end; y += step {
		dst := t.scr.rows[y]
		dst.wrapped = false
		dst.grow(t.cols, t.cols)
		cells := dst.writableSpan(left, right-left+1, t.cols, fill)
		from := y + n
		if from < top || from > bottom {
			for i := range cells {
				cells[i] = fill
			}
			continue
		}
		src := t.scr.rows[from]
		src.grow(t.cols, t.cols)
		copy(cells, src.writableSpan(left, right-left+1, t.cols, fill))
	}
}

// advanceRow moves the cursor down one row. On the bottom row of the scroll
// region it scrolls instead.
func (t *Terminal) advanceRow() {
	if t.y != t.scr.bottom {
		t.y = min(t.y+1, t.rows-1)
		return
	}
	left, right, set := t.margins()
	switch {
	case !set:
		t.scroll()
	case t.x >= left && t.x <= right:
		t.shift(t.scr.top, t.scr.bottom, 1, t.blankCell())
	}
}

func (t *Terminal) lineFeed() {
	if t.modes.has(modeNewLine) {
		t.carriageReturn()
	}
	if t.wrapAt != 0 {
		t.endPendingWrap()
	}
	switch {
	case t.y == t.scr.bottom:
		t.advanceRow()
	case t.y < t.rows-1:
		t.y++
		t.line().wrapped = false
	}
	t.x = min(t.x, t.cols-1)
}

func (t *Terminal) index() {
	t.endPendingWrap()
	t.advanceRow()
	t.clampCursor(t.cols - 1)
}

func (t *Terminal) nextLine() {
	t.carriageReturn()
	t.index()
}

func (t *Terminal) reverseIndex() {
	t.endPendingWrap()
	if t.y == t.scr.top {
		if left, right, _ := t.margins(); t.x >= left && t.x <= right {
			t.shift(t.scr.top, t.scr.bottom, -1, t.blankCell())
		}
		return
	}
	t.y--
	t.clampCursor(t.cols - 1)
}

// inRegion tells whether the cursor is within the scroll region and the
// margins.
func (t *Terminal) inRegion() bool {
	left, right, _ := t.margins()
	x := min(t.x, t.cols-1)
	return t.y >= t.scr.top && t.y <= t.scr.bottom && x >= left && x <= right
}

func (t *Terminal) insertLines() { t.shiftLines(-1) }
func (t *Terminal) deleteLines() { t.shiftLines(1) }

// shiftLines moves the lines from the cursor to the end of the region.
func (t *Terminal) shiftLines(direction int) {
	t.endPendingWrap()
	if !t.inRegion() {
		return
	}
	n := min(t.parser.params.count(0), t.rows)
	t.shift(t.y, t.scr.bottom, direction*n, t.blankCell())
	left, _, _ := t.margins()
	t.x = left
}

func (t *Terminal) scrollUp() {
	t.shift(t.scr.top, t.scr.bottom, min(t.parser.params.count(0), t.rows), t.blankCell())
}

// scrollDown is SD. The new lines have the default background, as in xterm.js.
func (t *Terminal) scrollDown() {
	t.shift(t.scr.top, t.scr.bottom, -min(t.parser.params.count(0), t.rows), cell{})
}

func (t *Terminal) insertChars() {
	t.endPendingWrap()
	if left, right, _ := t.margins(); t.x >= left && t.x <= right {
		t.line().insert(t.x, t.parser.params.count(0), right+1, t.blankCell())
	}
}

func (t *Terminal) deleteChars() {
	t.endPendingWrap()
	if left, right, _ := t.margins(); t.x >= left && t.x <= right {
		t.line().remove(t.x, t.parser.params.count(0), right+1, t.blankCell())
	}
}

func (t *Terminal) scrollLeft()    { left, _, _ := t.margins(); t.shiftColumns(left, (*row).remove) }
func (t *Terminal) scrollRight()   { left, _, _ := t.margins(); t.shiftColumns(left, (*row).insert) }
func (t *Terminal) insertColumns() { t.shiftColumns(t.x%t.cols, (*row).insert) }
func (t *Terminal) deleteColumns() { t.shiftColumns(t.x%t.cols, (*row).remove) }

// shiftColumns inserts or removes columns at x in all lines of the region.
func (t *Terminal) shiftColumns(x int, shift func(r *row, x, n, right int, fill cell)) {
	if !t.inRegion() {
		return
	}
	_, right, _ := t.margins()
	for _, r := range t.scr.rows[t.scr.top : t.scr.bottom+1] {
		shift(r, x, t.parser.params.count(0), right+1, t.blankCell())
		r.wrapped = false
	}
}

func (t *Terminal) setScrollRegion() {
	top, bottom := t.parser.params.count(0), t.parser.params.get(1)
	if bottom == 0 || bottom > t.rows {
		bottom = t.rows
	}
	if top < bottom {
		t.scr.top, t.scr.bottom = top-1, bottom-1
		t.moveTo(0, 0)
	}
}
