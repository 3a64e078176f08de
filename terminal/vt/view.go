package vt

// View returns what a part of the screen shows: rows lines of up to cols
// columns, from column left and row top of the screen on, counted from 0.
// Each is as Terminal.ANSI has it, without a newline and without blanks at its
// end. Half of a wide character at an edge is a blank; beyond the screen lines
// are empty.
func (t *Terminal) View(left, top, cols, rows int) []string {
	lines := make([]string, rows)
	var part []cell
	for i := range lines {
		if top+i < 0 || top+i >= len(t.scr.rows) {
			continue
		}
		part = appendPart(part[:0], t.scr.rows[top+i], left, cols)
		t.lineBuf = t.encodeLine(t.lineBuf[:0], &row{cells: part})
		w := textWriter{t: t, styled: true}
		w.line(t.lineBuf)
		w.endLine()
		lines[i] = string(w.out[:len(w.out)-1])
	}
	return lines
}

// appendPart appends up to n cells of r, from x on, without halves of wide
// characters.
func appendPart(dst []cell, r *row, x, n int) []cell {
	from := min(max(x, 0), len(r.cells))
	to := max(from, min(x+n, len(r.cells)))
	dst = append(dst, r.cells[from:to]...)
	if len(dst) == 0 {
		return dst
	}
	if first := &dst[0]; first.spacer() {
		first.ch = 0
	}
	if last := &dst[len(dst)-1]; last.wide() {
		last.ch = 0
	}
	return dst
}
