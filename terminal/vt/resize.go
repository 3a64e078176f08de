package vt

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
