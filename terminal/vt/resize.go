package vt

// Resize changes the size, within bounds: 2 to 2000 columns, 1 to 1000 rows,
// and not more than 131072 cells. Wrapped lines of the main screen are
// wrapped anew, as in xterm.js; those of the alternate screen are cut.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.cols, t.rows = cols, rows
}
