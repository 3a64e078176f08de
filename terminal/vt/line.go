package vt

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// An encoded line is a byte of flags and then items: an operation, and what
// the operation says. Blank default cells at the end are left out.
const lineWrapped = 1

const (
	opStyle   = iota + 1 // attr as 8 bytes, ext as uvarint: for all that follows
	opASCII              // uvarint n, n bytes
	opNarrow             // uvarint n, n runes
	opWide               // uvarint n, n runes
	opCluster            // uvarint n, n bytes: one narrow cell
	opWideCluster
	opBlank // uvarint n
)

// maxRun bounds the characters of an item, to keep their number in one byte.
const maxRun = 127

// encodeLine appends the encoded form of r.
func (t *Terminal) encodeLine(dst []byte, r *row) []byte {
	flags := byte(0)
	if r.wrapped {
		flags = lineWrapped
	}
	dst = append(dst, flags)
	if len(r.packed.items) > 0 {
		return append(dst, r.packed.items...)
	}
	cells := r.cells
	for len(cells) > 0 && cells[len(cells)-1] == (cell{}) {
		cells = cells[:len(cells)-1]
	}
	var style cell
	for len(cells) > 0 {
		c := cells[0]
		if c.attr != style.attr || c.ext != style.ext {
			style = c
			dst = appendStyle(dst, c)
		}
		var n int
		dst, n = t.encodeRun(dst, cells)
		cells = cells[n:]
	}
	return dst
}

// encodeRun appends the cells at the beginning of cells that are of one kind
// and style, and returns how many these are.
func (t *Terminal) encodeRun(dst []byte, cells []cell) ([]byte, int) {
	c := cells[0]
	op := cellOp(c)
	if op == opCluster || op == opWideCluster {
		text := t.clusters.value(c.ch & chMask)
		dst = append(dst, op)
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
		return dst, cellWidthOf(c)
	}
	if op == opASCII {
		return encodeASCII(dst, cells)
	}
	width := cellWidthOf(c)
	n := 0
	for n < len(cells) && n < maxRun*width && cellOp(cells[n]) == op && cells[n].attr == c.attr && cells[n].ext == c.ext {
		n += width
	}
	dst = append(dst, op)
	dst = binary.AppendUvarint(dst, uint64(n/width))
	if op != opBlank {
		for i := 0; i < n; i += width {
			dst = utf8.AppendRune(dst, rune(cells[i].ch&chMask))
		}
	}
	return dst, n
}

// encodeASCII is encodeRun for ASCII, of which most lines are made.
func encodeASCII(dst []byte, cells []cell) ([]byte, int) {
	cells = cells[:min(len(cells), maxRun)]
	start := len(dst) + 2
	dst = slices.Grow(dst, 2+len(cells))
	text := dst[start : start+len(cells)]
	a, ext := cells[0].attr, cells[0].ext
	n := len(cells)
	for i := range cells {
		c := &cells[i]
		if c.ch-0x20 >= 0x5f || c.attr != a || c.ext != ext {
			n = i
			break
		}
		text[i] = byte(c.ch)
	}
	dst = dst[:start+n]
	dst[start-2], dst[start-1] = opASCII, byte(n)
	return dst, n
}

func cellOp(c cell) byte {
	switch {
	case c.ch-0x20 < 0x5f:
		return opASCII
	case !c.content():
		return opBlank
	case c.ch&chCluster != 0:
		if c.wide() {
			return opWideCluster
		}
		return opCluster
	case c.wide():
		return opWide
	}
	return opNarrow
}

func cellWidthOf(c cell) int {
	if c.wide() {
		return 2
	}
	return 1
}

// lineReader reads an encoded line: runs of cells of one kind and style.
type lineReader struct {
	rest  []byte
	style cell // attr and ext of the run
	op    byte
	n     int    // characters in the run; a cluster is one
	text  []byte // what they are, nothing for blanks
}

func readLine(line []byte) lineReader { return lineReader{rest: line[1:]} }

func isWrapped(line []byte) bool { return line[0]&lineWrapped != 0 }

// width is the columns of each character in the run.
func (l *lineReader) width() int {
	if l.op == opWide || l.op == opWideCluster {
		return 2
	}
	return 1
}

func (l *lineReader) cluster() bool { return l.op == opCluster || l.op == opWideCluster }

// next goes to the next run.
func (l *lineReader) next() bool {
	for len(l.rest) > 0 && l.rest[0] == opStyle {
		l.style.attr = attr(binary.LittleEndian.Uint64(l.rest[1:]))
		ext, n := binary.Uvarint(l.rest[9:])
		l.style.ext = uint32(ext)
		l.rest = l.rest[9+n:]
	}
	if len(l.rest) == 0 {
		return false
	}
	l.op = l.rest[0]
	v, n := binary.Uvarint(l.rest[1:])
	l.rest = l.rest[1+n:]
	l.n = int(v)
	size := l.n
	switch l.op {
	case opBlank:
		size = 0
	case opCluster, opWideCluster:
		l.n = 1
	case opNarrow, opWide:
		size = 0
		for range l.n {
			_, n := utf8.DecodeRune(l.rest[size:])
			size += n
		}
	}
	l.text, l.rest = l.rest[:size], l.rest[size:]
	return true
}

// hasContent tells whether anything was written to the line.
func hasContent(line []byte) bool {
	for l := readLine(line); l.next(); {
		if l.op != opBlank {
			return true
		}
	}
	return false
}

// decodeLine makes r the line.
func (t *Terminal) decodeLine(r *row, line []byte) {
	r.reset(0, cell{})
	r.wrapped = isWrapped(line)
	for l := readLine(line); l.next(); {
		t.decodeRun(r, &l)
	}
}

// decodeRun appends the cells of a run.
func (t *Terminal) decodeRun(r *row, l *lineReader) {
	if l.cluster() {
		c := l.style
		if id, ok := t.cluster(string(l.text)); ok {
			c.ch = id | chCluster
		} else {
			first, _ := utf8.DecodeRune(l.text)
			c.ch = uint32(first)
		}
		r.appendCell(c, l.width())
		return
	}
	r.appendRun(l)
}

func (r *row) appendCell(c cell, width int) {
	if width == 1 {
		r.cells = append(r.cells, c)
		return
	}
	right := cell{ch: chSpacer, attr: c.attr, ext: c.ext}
	c.ch |= chWide
	r.cells = append(r.cells, c, right)
}

// packed is the content of a row that was only ever written from left to right,
// as most of what a program prints is: the items of an encoded line, to which
// text is appended. They are those that encodeLine would make of the row's cells.
// Such a row goes to the scrollback as it is; what else is done to it gives it
// cells first.
type packed struct {
	items []byte // none where the row has cells, or is empty
	cols  int    // columns that they fill
	style cell   // attr and ext of the last item
	run   int    // where the last item begins
}

// reset empties p and keeps its memory.
func (p *packed) reset() { *p = packed{items: p.items[:0]} }

// packs reports whether text at column x can be appended to the row.
func (r *row) packs(x int) bool { return len(r.cells) == 0 && x >= r.packed.cols }

// room returns how many characters more the last item has room for, if it is of
// operation op in this style. Otherwise it begins another.
func (p *packed) room(op byte, style cell) int {
	if style != p.style {
		p.style = style
		p.items = appendStyle(p.items, style)
	} else if len(p.items) > 0 && p.items[p.run] == op && p.items[p.run+1] < maxRun {
		return maxRun - int(p.items[p.run+1])
	}
	p.run = len(p.items)
	p.items = append(p.items, op, 0)
	return maxRun
}

// blankTo fills the row with blanks that nothing was written to, up to column x.
func (p *packed) blankTo(x int) {
	for p.cols < x {
		n := min(x-p.cols, p.room(opBlank, cell{}))
		p.items[p.run+1] += byte(n)
		p.cols += n
	}
}

// ascii appends printable ASCII, to begin at column x, in the style of a cell
// without content.
func (p *packed) ascii(x int, style cell, text []byte) {
	p.blankTo(x)
	p.cols += len(text)
	for len(text) > 0 {
		n := min(len(text), p.room(opASCII, style))
		p.items[p.run+1] += byte(n)
		p.items = append(p.items, text[:n]...)
		text = text[n:]
	}
}

// rune appends a character of one or two columns, to begin at column x.
func (p *packed) rune(x int, style cell, r rune, width int) {
	p.blankTo(x)
	op := cellOp(cell{ch: uint32(r)})
	if width == 2 {
		op = opWide
	}
	p.room(op, style)
	p.items[p.run+1]++
	p.items = utf8.AppendRune(p.items, r)
	p.cols += width
}

// unpack gives the row cells.
func (r *row) unpack() {
	if len(r.packed.items) > 0 {
		r.makeCells()
	}
}

func (r *row) makeCells() {
	r.cells = slices.Grow(r.cells[:0], r.packed.cols)
	for l := (lineReader{rest: r.packed.items}); l.next(); {
		r.appendRun(&l)
	}
	r.packed.reset()
}

// appendRun appends the cells of a run that is no cluster.
func (r *row) appendRun(l *lineReader) {
	c := l.style
	text := l.text
	for range l.n {
		if l.op != opBlank {
			ch, n := utf8.DecodeRune(text)
			text = text[n:]
			c.ch = uint32(ch)
		}
		r.appendCell(c, l.width())
	}
}

// appendStyle appends the item that sets the style of the items after it.
func appendStyle(dst []byte, style cell) []byte {
	dst = append(dst, opStyle)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(style.attr))
	return binary.AppendUvarint(dst, uint64(style.ext))
}
