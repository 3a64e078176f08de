package vt

import (
	"bytes"
	"unicode/utf8"
)

const maxCluster = 128 // bytes of UTF-8 in one cell

// margins are the first and last column that the cursor moves within. set
// tells whether the program has set them; else they are the screen's edges.
func (t *Terminal) margins() (left, right int, set bool) {
	if t.modes.has(modeMargins) {
		return t.scr.left, t.scr.right, t.scr.left > 0 || t.scr.right < t.cols-1
	}
	return 0, t.cols - 1, false
}

// rightLimit is the column after the last one that text at the cursor may
// fill.
func (t *Terminal) rightLimit() int {
	_, right, set := t.margins()
	if set && (t.x <= right || t.wrapAt == t.x) {
		return right + 1
	}
	return t.cols
}

// printASCII writes a run of printable ASCII.
func (t *Terminal) printASCII(p []byte) {
	if t.charset() != 'B' || t.singleShift != 0 || t.modes.has(modeInsert) || t.grapheme.class == gbPrepend {
		for _, b := range p {
			t.print(rune(b))
		}
		return
	}
	c := t.penCell()
	for len(p) > 0 {
		limit := t.rightLimit()
		if t.x >= limit {
			if t.modes.has(modeWrap) {
				t.wrap()
				limit = t.rightLimit()
			} else {
				t.x = limit - 1
			}
		}
		n := min(len(p), limit-t.x)
		if r := t.line(); r.packs(t.x) {
			r.packed.ascii(t.x, c, p[:n])
		} else {
			cells := r.writableSpan(t.x, n, t.cols, c)
			for i, b := range p[:len(cells)] {
				cells[i] = cell{ch: uint32(b), ext: c.ext, attr: c.attr}
			}
		}
		p = p[n:]
		t.x += n
		t.setPendingWrap(limit)
	}
	t.grapheme = afterNarrow
	t.graphemeDropped = false
}

// setPendingWrap records, after a write, whether the next character has to
// wrap at the right margin.
func (t *Terminal) setPendingWrap(limit int) {
	t.wrapAt = 0
	if t.x == limit && limit < t.cols {
		t.wrapAt = limit
	}
}

// wrap moves the cursor to the beginning of the next line, which continues
// this one.
func (t *Terminal) wrap() {
	left, _, set := t.margins()
	t.wrapAt = 0
	t.x = left
	if set {
		t.advanceRow()
		return
	}
	t.y++
	if t.y == t.scr.bottom+1 {
		t.y--
		t.scroll()
	} else if t.y >= t.rows {
		t.y = t.rows - 1
	}
	t.line().wrapped = true
}

// print writes one rune: into a cell of its own, or as part of the grapheme
// cluster before the cursor.
func (t *Terminal) print(r rune) {
	if r == 0xfeff {
		return // a byte order mark
	}
	r = t.translate(r)
	next, joined := t.grapheme.after(r)
	if joined {
		t.extendGrapheme(r, next)
		return
	}
	t.grapheme = next
	t.graphemeDropped = false
	width := int(next.width)
	limit := t.rightLimit()
	if t.x+width > limit {
		if !t.modes.has(modeWrap) {
			t.x = limit - 1
			t.wrapAt = 0
			if width == 2 {
				t.graphemeDropped = true
				return
			}
		} else {
			t.blankRest(limit)
			t.wrap()
			limit = t.rightLimit()
		}
	}
	if t.modes.has(modeInsert) {
		t.line().insert(t.x, width, limit, t.penCell())
	}
	if line := t.line(); line.packs(t.x) {
		line.packed.rune(t.x, t.penCell(), r, width)
	} else {
		t.setCell(line.writableSpan(t.x, width, t.cols, t.penCell()), uint32(r), width)
	}
	t.x += width
	t.setPendingWrap(limit)
}

// setCell writes a character and its right half.
func (t *Terminal) setCell(cells []cell, ch uint32, width int) {
	c := t.penCell()
	c.ch = ch
	if width == 2 {
		c.ch |= chWide
		cells[1] = cell{ch: chSpacer, attr: c.attr, ext: c.ext}
	}
	cells[0] = c
}

// blankRest blanks the columns from the cursor to limit, in which a wide
// character has no room.
func (t *Terminal) blankRest(limit int) {
	if t.x < limit {
		t.line().fill(t.x, limit, t.cols, t.penCell())
	}
}

// extendGrapheme adds r to the grapheme cluster before the cursor. The cluster
// may become two columns wide by that.
func (t *Terminal) extendGrapheme(r rune, next graphemeState) {
	old := int(t.grapheme.width)
	t.grapheme = next
	if t.graphemeDropped {
		return
	}
	width := int(next.width)
	limit := t.rightLimit()
	if t.x+width-old > limit {
		if !t.modes.has(modeWrap) {
			t.x = limit - 1
			t.wrapAt = 0
			t.graphemeDropped = true
			return
		}
		t.moveCluster(old, limit)
		limit = t.rightLimit()
	}
	if t.x == 0 { // the cluster is gone, by a resize
		t.x = min(width, limit)
		cells := t.line().writableSpan(0, t.x, t.cols, t.penCell())
		t.setCell(cells, uint32(r), t.x)
		return
	}
	x := t.x - 1
	if t.line().at(x).spacer() {
		x--
	}
	if t.line().at(x).wide() {
		width = 2
	}
	width = min(width, limit-x)
	c := t.line().at(x)
	cells := t.line().writableSpan(x, width, t.cols, t.penCell())
	if ch, ok := t.appendCluster(c, r); ok {
		c.ch = ch
	}
	if width == 2 {
		c.ch |= chWide
		cells[1] = cell{ch: chSpacer, attr: c.attr, ext: c.ext}
	}
	cells[0] = c
	t.x = x + width
	t.setPendingWrap(limit)
}

// moveCluster moves the cluster before the cursor to the next line.
func (t *Terminal) moveCluster(width, limit int) {
	x := t.x - width
	c := t.line().at(x)
	t.line().fill(x, limit, t.cols, t.penCell())
	t.wrap()
	cells := t.line().writableSpan(t.x, width, t.cols, t.penCell())
	cells[0] = c
	t.x += width
}

// appendCluster returns the content of cell c with r added. It reports false,
// and r is dropped, where the cluster would be too long or the table of
// clusters is full.
func (t *Terminal) appendCluster(c cell, r rune) (uint32, bool) {
	flags := c.ch & chWide
	if !c.content() {
		return uint32(r) | flags, true
	}
	var buf [maxCluster + utf8.UTFMax]byte
	text := utf8.AppendRune(t.appendText(buf[:0], c), r)
	if len(text) > maxCluster {
		return 0, false
	}
	id, ok := t.cluster(string(text))
	return id | chCluster | flags, ok
}

// appendText appends what a cell shows, nothing for a blank.
func (t *Terminal) appendText(dst []byte, c cell) []byte {
	switch {
	case c.ch&chCluster != 0:
		return append(dst, t.clusters.value(c.ch&chMask)...)
	case c.content():
		return utf8.AppendRune(dst, rune(c.ch&chMask))
	}
	return dst
}

// maxRepeat bounds the work that a few bytes can ask for. Programs repeat
// within a line.
const maxRepeat = 1000

// repeat writes the last character again.
func (t *Terminal) repeat() {
	width := int(t.grapheme.width)
	if width == 0 || t.x < width {
		return
	}
	var buf [maxCluster]byte
	text := t.appendText(buf[:0], t.line().at(t.x-width))
	n := min(t.parser.params.count(0), max(t.cols, maxRepeat))
	if len(text) == 1 {
		run := bytes.Repeat(text, min(n, t.cols))
		for ; n > 0; n -= len(run) {
			t.printASCII(run[:min(n, len(run))])
		}
		return
	}
	for range n {
		for _, r := range string(text) {
			t.print(r)
		}
	}
}
