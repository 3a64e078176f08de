package vt

import (
	"bytes"
	"unicode/utf8"
)

// TextOptions say what Text and ANSI return.
type TextOptions struct {
	// Scrollback puts the lines before the main screen first.
	Scrollback bool
	// KeepBlanks keeps the blanks at the end of lines, so that each line is as
	// wide as the screen, and blank lines at the end.
	KeepBlanks bool
	// JoinWraps makes one line of those that were wrapped.
	JoinWraps bool
	// Top and Bottom, unless 0, are the first and the last row of the screen to
	// return, counted from 1. Rows that the screen does not have are left out.
	Top, Bottom int
}

// Text returns what the screen shows, a newline after each line.
func (t *Terminal) Text(o TextOptions) string { return string(t.render(o, false)) }

// ANSI returns what Text returns, with the SGR and OSC 8 sequences that style
// it. Each line begins in the default style and ends in it.
func (t *Terminal) ANSI(o TextOptions) string { return string(t.render(o, true)) }

func (t *Terminal) render(o TextOptions, styled bool) []byte {
	w := textWriter{t: t, o: o, styled: styled}
	if o.Scrollback && !t.onAlt() {
		t.scrollback.each(t.scrollback.lines, w.line)
	}
	for _, r := range t.rowsBetween(o.Top, o.Bottom) {
		t.lineBuf = t.encodeLine(t.lineBuf[:0], r)
		w.line(t.lineBuf)
	}
	w.endLine()
	if !o.KeepBlanks {
		w.out = w.out[:w.contentEnd]
	}
	return w.out
}

// rowsBetween returns the rows from top to bottom, as TextOptions has them.
func (t *Terminal) rowsBetween(top, bottom int) []*row {
	rows := t.scr.rows
	if bottom > 0 {
		rows = rows[:min(bottom, len(rows))]
	}
	return rows[min(max(top-1, 0), len(rows)):]
}

// textWriter writes lines. Blanks that may turn out to be at the end of a line
// are only counted.
type textWriter struct {
	t      *Terminal
	o      TextOptions
	styled bool

	out        []byte
	style      cell // attr and ext of what was written last
	open       bool // a line is being written
	start      int  // where it begins in out
	column     int  // of the row being written, blanks included
	blanks     int  // not written yet
	contentEnd int  // the end of the last line that is not empty, in out
}

func (w *textWriter) line(line []byte) {
	if w.open && w.o.JoinWraps && isWrapped(line) {
		w.fillRow(line)
	} else {
		w.endLine()
		w.open, w.start = true, len(w.out)
	}
	w.column = 0
	for l := readLine(line); l.next(); {
		w.run(&l)
	}
}

// fillRow counts the rest of a row that next continues as blank, but the last
// column where a wide character did not fit.
func (w *textWriter) fillRow(next []byte) {
	missing := w.t.cols - w.column
	if l := readLine(next); missing == 1 && l.next() && l.width() == 2 {
		return
	}
	w.blanks += missing
}

func (w *textWriter) run(l *lineReader) {
	w.column += l.n * l.width()
	visible := w.visible(l.style)
	text, blanks := l.text, 0
	switch {
	case l.op == opBlank && visible:
		text = bytes.Repeat([]byte{' '}, l.n)
	case l.op == opBlank:
		blanks = l.n
	case l.op == opASCII && !visible:
		text = bytes.TrimRight(l.text, " ")
		blanks = len(l.text) - len(text)
	}
	if len(text) > 0 {
		w.writeBlanks()
		w.setStyle(l.style)
		w.out = append(w.out, text...)
	}
	w.blanks += blanks
}

// visible tells whether a blank shows in this style.
func (w *textWriter) visible(style cell) bool {
	const shows = bgMask | inverse | underlineMask | strike | overline
	return w.styled && style.attr&shows != 0
}

func (w *textWriter) writeBlanks() {
	if w.blanks > 0 {
		w.setStyle(cell{})
		w.out = append(w.out, bytes.Repeat([]byte{' '}, w.blanks)...)
		w.blanks = 0
	}
}

func (w *textWriter) setStyle(style cell) {
	style.ch = 0
	if !w.styled || style == w.style {
		return
	}
	before, after := w.t.extras.value(w.style.ext), w.t.extras.value(style.ext)
	w.out = append(w.out, "\x1b["...)
	w.out = appendSGR(w.out, style.attr, after.underline)
	w.out = append(w.out, 'm')
	if before.id != after.id || before.uri != after.uri {
		w.out = appendLink(w.out, after)
	}
	w.style = style
}

func (w *textWriter) endLine() {
	if !w.open {
		return
	}
	if w.o.KeepBlanks {
		w.blanks += w.t.cols - w.column
		w.writeBlanks()
	}
	w.blanks = 0
	w.setStyle(cell{})
	empty := len(w.out) == w.start
	w.out = append(w.out, '\n')
	if !empty {
		w.contentEnd = len(w.out)
	}
}

// appendLink appends the OSC 8 that begins e's hyperlink or ends the one
// before.
func appendLink(dst []byte, e extra) []byte {
	dst = append(dst, "\x1b]8;"...)
	if e.id != "" {
		dst = append(dst, "id="...)
		dst = append(dst, e.id...)
	}
	dst = append(dst, ';')
	dst = append(dst, e.uri...)
	return append(dst, "\x1b\\"...)
}

// View returns what a part of the screen shows: rows lines of up to cols
// columns, from column left and row top of the screen on, counted from 0.
// Each is as Terminal.ANSI has it, without a newline and without blanks at its
// end. Half of a wide character at an edge is a blank; beyond the screen lines
// are empty. Unless shows is nil, a character beyond ASCII that it refuses is
// U+FFFD, in the same columns, and a hyperlink that it refuses is left out.
func (t *Terminal) View(left, top, cols, rows int, shows func(string) bool) []string {
	lines := make([]string, rows)
	var part []cell
	for i := range lines {
		if top+i < 0 || top+i >= len(t.scr.rows) {
			continue
		}
		part = appendPart(part[:0], t.scr.rows[top+i], left, cols)
		if shows != nil {
			t.replaceRefused(part, shows)
		}
		t.lineBuf = t.encodeLine(t.lineBuf[:0], &row{cells: part})
		w := textWriter{t: t, styled: true}
		w.line(t.lineBuf)
		w.endLine()
		lines[i] = string(w.out[:len(w.out)-1])
	}
	return lines
}

// replaceRefused replaces what shows refuses of cells, as View has it.
func (t *Terminal) replaceRefused(cells []cell, shows func(string) bool) {
	var buf [maxCluster]byte
	var seen, plain uint32 // an ext, and what it is replaced by
	for i := range cells {
		c := &cells[i]
		if c.ext != seen {
			e := t.extras.value(c.ext)
			seen, plain = c.ext, c.ext
			if e.uri != "" && !shows(e.id+";"+e.uri) {
				plain = t.extra(extra{underline: e.underline})
			}
		}
		c.ext = plain
		if ch := c.ch & (chMask | chCluster); ch < utf8.RuneSelf || shows(string(t.appendText(buf[:0], *c))) {
			continue
		}
		if c.wide() && i+1 < len(cells) {
			cells[i+1].ch = 0
		}
		c.ch = utf8.RuneError
	}
}

// appendPart appends up to n cells of r, from x on, without halves of wide
// characters.
func appendPart(dst []cell, r *row, x, n int) []cell {
	r.unpack()
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
