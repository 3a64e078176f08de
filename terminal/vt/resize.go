package vt

import (
	"slices"
)

// Resize changes the size, within bounds: 2 to 2000 columns, 1 to 1000 rows,
// and not more than 131072 cells. Wrapped lines of the main screen are rewrapped,
// as in xterm.js; those of the alternate screen are truncated.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = ClampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.wrapAt = 0
	oldCols := t.cols
	t.cols, t.rows = cols, rows

	cursor := point{t.x, t.y}
	mainCursor, altCursor := &cursor, &point{}
	if t.onAlt() {
		mainCursor, altCursor = &t.main.inactiveCursor, &cursor
	}
	t.resizeMain(oldCols, mainCursor)
	t.resizeAlt(altCursor)
	t.x, t.y = cursor.x, cursor.y
	for _, s := range []*screen{t.main, t.alt} {
		s.resetMargins(cols, rows)
		s.tabs.resize(cols)
		s.saved.x = min(s.saved.x, cols-1)
		s.saved.y = min(max(s.saved.y, 0), rows-1)
		s.saved.wrapAt = 0
		if !s.saved.set {
			s.saved = defaultSaved
		}
		for _, r := range s.rows {
			r.truncate(cols)
		}
	}
	if !t.onAlt() {
		t.alt.tabs.reset(cols)
	}
	t.scratch = nil
}

type point struct{ x, y int }

// truncate drops the cells from column cols on.
func (r *row) truncate(cols int) {
	r.unpack()
	if len(r.cells) <= cols {
		return
	}
	r.blankWideAt(cols, cell{})
	r.cells = r.cells[:cols]
}

// resizeMain changes the number of rows as xterm.js does. If the cursor is on
// the last row, rows move between screen and scrollback; otherwise rows are
// added and dropped at the bottom. Then lines are rewrapped to the new width.
func (t *Terminal) resizeMain(oldCols int, c *point) {
	s := t.main
	below := len(s.rows) - 1 - c.y
	for len(s.rows) < t.rows {
		if below == 0 && t.scrollback.lines > 0 {
			s.rows = append([]*row{t.takeFromScrollback()}, s.rows...)
			c.y++
			s.saved.y++
			continue
		}
		s.rows = append(s.rows, new(row))
		below++
	}
	for len(s.rows) > t.rows {
		if below > 0 {
			s.rows = s.rows[:len(s.rows)-1]
			below--
			continue
		}
		t.addToScrollback(s.rows[0])
		s.rows = s.rows[1:]
		c.y--
		s.saved.y--
	}
	c.x, c.y = min(c.x, t.cols-1), max(c.y, 0)
	if t.cols != oldCols {
		t.reflow(oldCols, c)
	}
}

// resizeAlt drops rows below the cursor first, then rows at the top.
func (t *Terminal) resizeAlt(c *point) {
	s := t.alt
	for len(s.rows) < t.rows {
		s.rows = append(s.rows, new(row))
	}
	if extra := len(s.rows) - t.rows; extra > 0 {
		below := min(extra, max(len(s.rows)-1-c.y, 0))
		s.rows = s.rows[extra-below : len(s.rows)-below]
		c.y = max(c.y-(extra-below), 0)
		s.saved.y -= extra - below
	}
	c.x, c.y = min(c.x, t.cols-1), min(c.y, t.rows-1)
}

// takeFromScrollback removes the newest line from the scrollback and returns
// it as a row.
func (t *Terminal) takeFromScrollback() *row {
	r := new(row)
	t.scratch = append(t.scratch, r)
	t.decodeLine(r, t.scrollback.newest())
	t.scrollback.dropNewest()
	return r
}

// maxRejoined bounds the rows that are taken back from the scrollback to
// rewrap a line of which a part is still on the screen.
const maxRejoined = 512

// lineWrapper wraps the cells of one line, however long, into rows of cols
// columns.
type lineWrapper struct {
	cols int
	row  *row
	emit func(*row) *row // takes a full row, returns one to go on with
}

func (f *lineWrapper) begin(wrapped bool) {
	f.row.cells = f.row.cells[:0]
	f.row.wrapped = wrapped
}

// add appends the first n cells of r.
func (f *lineWrapper) add(r *row, n int) {
	for x := range n {
		c := r.at(x)
		full := len(f.row.cells) >= f.cols
		if c.wide() && len(f.row.cells) == f.cols-1 {
			full = true // it does not fit
		}
		if full {
			f.row = f.emit(f.row)
			f.begin(true)
		}
		f.row.cells = append(f.row.cells, c)
	}
}

func (f *lineWrapper) end() { f.row = f.emit(f.row) }

// cellsOfLine is how many cells of r belong to its line. Where next continues
// the line these are all, without a blank in the last column that a wide
// character at the beginning of next left there.
func cellsOfLine(r, next *row, cols int) int {
	if next == nil {
		return r.contentLength()
	}
	if r.at(cols-1).blank() && next.at(0).wide() {
		return cols - 1
	}
	return cols
}

// reflow rewraps the lines of the main screen and the scrollback to the new
// width. The line with the cursor stays as it is, because the shell redraws
// it.
func (t *Terminal) reflow(oldCols int, c *point) {
	s := t.main
	var pulled []*row
	for len(pulled) < maxRejoined && t.scrollback.lines > 0 {
		first := s.rows[0]
		if len(pulled) > 0 {
			first = pulled[len(pulled)-1]
		}
		if !first.wrapped {
			break
		}
		pulled = append(pulled, t.takeFromScrollback())
	}
	slices.Reverse(pulled)
	t.reflowScrollback(oldCols)
	l := &layout{
		rows:  append(pulled, s.rows...),
		above: t.scrollback.lines,
		base:  t.scrollback.lines + len(pulled),
		y:     c.y,
	}
	l.saved = l.base + s.saved.y
	if t.cols > oldCols {
		l.reflowWider(oldCols, t.cols)
	} else {
		l.reflowNarrower(oldCols, t.cols, t.rows)
	}
	t.applyLayout(l)
	c.y = min(max(l.y, 0), t.rows-1)
	s.saved.y = l.saved - l.base
}

// applyLayout makes l the main screen. Rows above it go to the scrollback, or
// come back from there.
func (t *Terminal) applyLayout(l *layout) {
	rows := l.rows
	top := l.base - l.above
	for ; top > 0 && len(rows) > 0; top-- {
		rows[0].truncate(t.cols)
		t.addToScrollback(rows[0])
		rows = rows[1:]
	}
	for ; top < 0 && t.scrollback.lines > 0; top++ {
		rows = append([]*row{t.takeFromScrollback()}, rows...)
	}
	for len(rows) < t.rows {
		rows = append(rows, new(row))
	}
	t.main.rows = slices.Clone(rows[:t.rows])
}

// reflowScrollback rewraps the lines of the scrollback, one at a time.
func (t *Terminal) reflowScrollback(oldCols int) {
	old := t.scrollback
	t.oldScrollback = &old
	defer func() {
		t.oldScrollback = nil
		old.clear()
	}()
	t.scrollback.resetKeepingSpill()
	narrower := t.cols < oldCols
	f := lineWrapper{cols: t.cols, row: new(row)}
	f.emit = func(r *row) *row {
		t.addToScrollback(r)
		return r
	}
	prev, next := new(row), new(row)
	t.scratch = append(t.scratch, prev, next, f.row)
	begun, several := false, false
	finish := func() {
		if !begun {
			return
		}
		n := prev.contentLength()
		if several || narrower && n > t.cols {
			f.add(prev, n)
			f.end()
			for !narrower && t.scrollback.lines > 0 && isWrapped(t.scrollback.newest()) && !hasContent(t.scrollback.newest()) {
				t.scrollback.dropNewest()
			}
			return
		}
		prev.truncate(t.cols)
		t.addToScrollback(prev)
	}
	old.each(old.lines, func(line []byte) {
		t.decodeLine(next, line)
		if begun && next.wrapped {
			several = true
			f.add(prev, cellsOfLine(prev, next, oldCols))
		} else {
			finish()
			several = false
			f.begin(next.wrapped)
		}
		begun = true
		prev, next = next, prev
	})
	finish()
}

// layout is the lines of the main screen while they are rewrapped.
type layout struct {
	rows  []*row // beginning with those that the screen's first line had in the scrollback
	above int    // rows of the scrollback, before these
	base  int    // the screen's first row, counted with those above
	y     int    // the cursor's row on the screen
	saved int    // the saved cursor's row, counted with those above
}

// cursorIn reports whether the cursor is in the rows [from, to).
func (l *layout) cursorIn(from, to int) bool {
	cursor := l.base + l.y - l.above
	return cursor >= from && cursor < to
}

// lineEnd returns the row after the line that begins at row i.
func (l *layout) lineEnd(i int) int {
	for i++; i < len(l.rows) && l.rows[i].wrapped; i++ {
	}
	return i
}

// rewrap returns the rows of one line at the new width.
func rewrap(rows []*row, oldCols, cols int) []*row {
	var out []*row
	f := lineWrapper{cols: cols, row: new(row)}
	f.emit = func(r *row) *row {
		out = append(out, r)
		return new(row)
	}
	f.begin(rows[0].wrapped)
	for i, r := range rows {
		var next *row
		if i+1 < len(rows) {
			next = rows[i+1]
		}
		f.add(r, cellsOfLine(r, next, oldCols))
	}
	f.end()
	return out
}

// reflowWider rewraps to more columns, which leaves fewer rows. Rows from the
// scrollback take their place.
func (l *layout) reflowWider(oldCols, cols int) {
	var out []*row
	removed := 0
	for i := 0; i < len(l.rows); {
		end := l.lineEnd(i)
		rows := l.rows[i:end]
		if len(rows) > 1 && !l.cursorIn(i, end) {
			rows = rewrap(rows, oldCols, cols)
			for len(rows) > 1 && rows[len(rows)-1].contentLength() == 0 {
				rows = rows[:len(rows)-1]
			}
			removed += end - i - len(rows)
		}
		out = append(out, rows...)
		i = end
	}
	for n := removed; n > 0; n-- {
		if l.base > 0 {
			l.base--
			continue
		}
		l.y = max(l.y-1, 0)
	}
	l.saved = max(l.saved-removed, 0)
	l.rows = out
}

// reflowNarrower rewraps to fewer columns, from the last line to the first.
// While the scrollback is empty, each added row moves the cursor down and
// drops the screen's last row. After that it moves a row into the scrollback.
func (l *layout) reflowNarrower(oldCols, cols, screenRows int) {
	added := make(map[int][]*row) // by the old row that they follow
	count := 0
	kept := len(l.rows)
	for end := len(l.rows); end > 0; {
		i := end - 1
		for i > 0 && l.rows[i].wrapped {
			i--
		}
		fits := end-i == 1 && !l.rows[i].wrapped && l.rows[i].contentLength() <= cols
		if !fits && !l.cursorIn(i, end) {
			rows := rewrap(l.rows[i:end], oldCols, cols)
			for len(rows) < end-i {
				rows = append(rows, &row{wrapped: true})
			}
			copy(l.rows[i:end], rows)
			more := rows[end-i:]
			added[end-1] = more
			count += len(more)
			for range more {
				switch {
				case l.base == 0 && l.y < screenRows-1:
					l.y++
					kept--
				case l.base == 0 || l.base < l.above+kept+count-screenRows:
					l.base++
				}
			}
			l.saved = min(l.saved+len(more), l.base+screenRows-1)
		}
		end = i
	}
	var out []*row
	for i, r := range l.rows {
		if i < kept {
			out = append(out, r)
		}
		out = append(out, added[i]...)
	}
	l.rows = out
}
