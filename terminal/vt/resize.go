package vt

import (
	"slices"
)

// Resize changes the size, within bounds: 2 to 2000 columns, 1 to 1000 rows,
// and not more than 131072 cells. Wrapped lines of the main screen are
// wrapped anew, as in xterm.js; those of the alternate screen are cut.
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
		mainCursor, altCursor = &t.main.held, &cursor
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
			r.cutTo(cols)
		}
	}
	if !t.onAlt() {
		t.alt.tabs.reset(cols)
	}
	t.scratch = nil
}

type point struct{ x, y int }

// cutTo drops the cells that are past the last column.
func (r *row) cutTo(cols int) {
	if len(r.cells) <= cols {
		return
	}
	r.cut(cols, cell{})
	r.cells = r.cells[:cols]
}

// resizeMain changes the number of rows as xterm.js does: rows come from and
// go to the scrollback where the cursor is on the last one, else they are
// added and dropped below. Then it wraps lines anew.
func (t *Terminal) resizeMain(oldCols int, c *point) {
	s := t.main
	below := len(s.rows) - 1 - c.y
	for len(s.rows) < t.rows {
		if below == 0 && t.scrollback.lines > 0 {
			s.rows = append([]*row{t.pullLine()}, s.rows...)
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
		t.keepLine(s.rows[0])
		s.rows = s.rows[1:]
		c.y--
		s.saved.y--
	}
	c.x, c.y = min(c.x, t.cols-1), max(c.y, 0)
	if t.cols != oldCols {
		t.reflow(oldCols, c)
	}
}

// resizeAlt drops rows below the cursor, then those at the top.
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

// pullLine takes the newest line out of the scrollback.
func (t *Terminal) pullLine() *row {
	r := new(row)
	t.scratch = append(t.scratch, r)
	t.decodeLine(r, t.scrollback.newest())
	t.scrollback.dropNewest()
	return r
}

// maxPulled bounds the rows that a line which begins in the scrollback and
// ends on the screen may have, to be wrapped anew as one.
const maxPulled = 512

// flow lays out the cells of one line, however long, in rows of cols columns.
type flow struct {
	cols int
	row  *row
	emit func(*row) *row // takes a full row, returns one to go on with
}

func (f *flow) begin(wrapped bool) {
	f.row.cells = f.row.cells[:0]
	f.row.wrapped = wrapped
}

// add appends the first n cells of r.
func (f *flow) add(r *row, n int) {
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

func (f *flow) end() { f.row = f.emit(f.row) }

// share is how many cells of r belong to its line: all of them where next
// continues it, but not the blank that a wide character at the beginning of
// next did not fit in.
func share(r, next *row, cols int) int {
	if next == nil {
		return r.contentLength()
	}
	if r.at(cols-1).blank() && next.at(0).wide() {
		return cols - 1
	}
	return cols
}

// reflow wraps the lines of the main screen and the scrollback anew. The line
// that the cursor is in stays as it is: a shell draws it again.
func (t *Terminal) reflow(oldCols int, c *point) {
	s := t.main
	var pulled []*row
	for len(pulled) < maxPulled && t.scrollback.lines > 0 {
		first := s.rows[0]
		if len(pulled) > 0 {
			first = pulled[len(pulled)-1]
		}
		if !first.wrapped {
			break
		}
		pulled = append(pulled, t.pullLine())
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
		l.wider(oldCols, t.cols)
	} else {
		l.narrower(oldCols, t.cols, t.rows)
	}
	t.adopt(l)
	c.y = min(max(l.y, 0), t.rows-1)
	s.saved.y = l.saved - l.base
}

// adopt makes the layout the main screen.
func (t *Terminal) adopt(l *layout) {
	rows := l.rows
	top := l.base - l.above
	for ; top > 0 && len(rows) > 0; top-- {
		rows[0].cutTo(t.cols)
		t.keepLine(rows[0])
		rows = rows[1:]
	}
	for ; top < 0 && t.scrollback.lines > 0; top++ {
		rows = append([]*row{t.pullLine()}, rows...)
	}
	for len(rows) < t.rows {
		rows = append(rows, new(row))
	}
	t.main.rows = slices.Clone(rows[:t.rows])
}

// reflowScrollback wraps the lines of the scrollback anew, one at a time.
func (t *Terminal) reflowScrollback(oldCols int) {
	old := t.scrollback
	t.oldScrollback = &old
	defer func() {
		t.oldScrollback = nil
		old.clear()
	}()
	t.scrollback.renew()
	narrower := t.cols < oldCols
	f := flow{cols: t.cols, row: new(row)}
	f.emit = func(r *row) *row {
		t.keepLine(r)
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
		prev.cutTo(t.cols)
		t.keepLine(prev)
	}
	old.each(old.lines, func(line []byte) {
		t.decodeLine(next, line)
		if begun && next.wrapped {
			several = true
			f.add(prev, share(prev, next, oldCols))
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

// layout is the lines of the main screen while they are wrapped anew.
type layout struct {
	rows  []*row // beginning with those that the screen's first line had in the scrollback
	above int    // rows of the scrollback, before these
	base  int    // the screen's first row, counted with those above
	y     int    // the cursor's row on the screen
	saved int    // the saved cursor's row, counted with those above
}

// cursorIn tells whether the cursor is in rows from to to.
func (l *layout) cursorIn(from, to int) bool {
	cursor := l.base + l.y - l.above
	return cursor >= from && cursor < to
}

// group returns the end of the line that begins at row i.
func (l *layout) group(i int) int {
	for i++; i < len(l.rows) && l.rows[i].wrapped; i++ {
	}
	return i
}

// lay wraps rows anew.
func lay(rows []*row, oldCols, cols int) []*row {
	var out []*row
	f := flow{cols: cols, row: new(row)}
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
		f.add(r, share(r, next, oldCols))
	}
	f.end()
	return out
}

// wider joins rows. Rows that become free are filled from the scrollback.
func (l *layout) wider(oldCols, cols int) {
	var out []*row
	removed := 0
	for i := 0; i < len(l.rows); {
		end := l.group(i)
		rows := l.rows[i:end]
		if len(rows) > 1 && !l.cursorIn(i, end) {
			rows = lay(rows, oldCols, cols)
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

// narrower splits rows, from the last line to the first. Where nothing is in
// the scrollback yet, each row that is added pushes the cursor down and the
// last of the old rows off the screen; else it pushes rows to the scrollback.
func (l *layout) narrower(oldCols, cols, screenRows int) {
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
			rows := lay(l.rows[i:end], oldCols, cols)
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
