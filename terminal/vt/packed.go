package vt

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

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
