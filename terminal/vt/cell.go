package vt

// cell is one column of a row. The zero cell is a blank that nothing was
// written to.
type cell struct {
	ch   uint32 // a rune or the index of a cluster, with the flags below; 0 is blank
	ext  uint32 // index into Terminal.extras: underline colour and hyperlink
	attr attr
}

const (
	chMask    = 1<<21 - 1 // the rune, or the index of a cluster
	chCluster = 1 << 21   // chMask is an index into Terminal.clusters
	chWide    = 1 << 22   // the left half of two columns
	chSpacer  = 1 << 23   // the right half; its style is that of the left half
)

func (c cell) blank() bool   { return c.ch&(chMask|chCluster|chSpacer) == 0 }
func (c cell) content() bool { return c.ch&(chMask|chCluster) != 0 }
func (c cell) wide() bool    { return c.ch&chWide != 0 }
func (c cell) spacer() bool  { return c.ch&chSpacer != 0 }

// row is one line of a screen: packed, or cells. Cells past the end of the slice
// are zero cells, so that a row costs what was written to it. Whatever uses cells
// calls unpack before.
type row struct {
	cells   []cell
	packed  packed
	wrapped bool // continues the row above
}

func (r *row) at(x int) cell {
	r.unpack()
	if x < 0 || x >= len(r.cells) {
		return cell{}
	}
	return r.cells[x]
}

// grow makes the first n cells addressable.
func (r *row) grow(n, cols int) {
	r.unpack()
	r.extend(n, n, cols)
}

// extend makes the first n cells of a row that is not packed addressable. New
// cells before blank are blank; the caller overwrites those from blank on.
func (r *row) extend(n, blank, cols int) {
	old := len(r.cells)
	if n <= old {
		return
	}
	if n > cap(r.cells) {
		cells := make([]cell, n, max(n, min(2*cap(r.cells), cols)))
		copy(cells, r.cells)
		r.cells = cells
		return
	}
	r.cells = r.cells[:n]
	if old < blank {
		clear(r.cells[old:blank])
	}
}

// writableSpan returns cells x to x+n of the row; the caller overwrites all of
// them. Where an edge would split a wide character, its other half becomes
// fill.
func (r *row) writableSpan(x, n, cols int, fill cell) []cell {
	r.unpack()
	r.blankWideAt(x, fill)
	r.blankWideAt(x+n, fill)
	r.extend(x+n, x, cols)
	return r.cells[x : x+n]
}

// blankWideAt replaces both halves of a wide character by fill where its right
// half is at x, so that whoever writes from x on splits none. The row is not
// packed.
func (r *row) blankWideAt(x int, fill cell) {
	if x > 0 && x < len(r.cells) && r.cells[x].spacer() {
		r.cells[x-1] = fill
		r.cells[x] = fill
	}
}

// fill sets cells x0 to x1, without x1, to c. Where c is the default blank and
// x1 is past the end, the row is only shortened.
func (r *row) fill(x0, x1, cols int, c cell) {
	x1 = min(x1, cols)
	if x0 >= x1 || c == (cell{}) && r.packs(x0) {
		return
	}
	r.unpack()
	r.blankWideAt(x0, c)
	r.blankWideAt(x1, c)
	if c == (cell{}) {
		if x1 >= len(r.cells) {
			r.cells = r.cells[:min(x0, len(r.cells))]
			return
		}
	} else {
		r.grow(x1, cols)
	}
	cells := r.cells[x0:x1]
	for i := range cells {
		cells[i] = c
	}
}

// insert shifts the cells from x to the right edge by n and fills the gap.
func (r *row) insert(x, n, right int, fill cell) {
	n = min(n, right-x)
	r.unpack()
	if n <= 0 || (len(r.cells) <= x && fill == (cell{})) {
		return
	}
	r.grow(right, right)
	r.blankWideAt(x, fill)
	r.blankWideAt(right-n, fill)
	r.blankWideAt(right, fill)
	copy(r.cells[x+n:right], r.cells[x:right-n])
	for i := x; i < x+n; i++ {
		r.cells[i] = fill
	}
	r.trim()
}

// remove shifts the cells right of x+n to x and fills up to the right edge.
func (r *row) remove(x, n, right int, fill cell) {
	n = min(n, right-x)
	r.unpack()
	if n <= 0 || (len(r.cells) <= x && fill == (cell{})) {
		return
	}
	r.grow(right, right)
	r.blankWideAt(x, fill)
	r.blankWideAt(x+n, fill)
	r.blankWideAt(right, fill)
	copy(r.cells[x:right-n], r.cells[x+n:right])
	for i := right - n; i < right; i++ {
		r.cells[i] = fill
	}
	r.trim()
}

// trim drops default blanks at the end.
func (r *row) trim() {
	n := len(r.cells)
	for n > 0 && r.cells[n-1] == (cell{}) {
		n--
	}
	r.cells = r.cells[:n]
}

// contentLength is the number of columns up to the last written one.
func (r *row) contentLength() int {
	r.unpack()
	for i := len(r.cells) - 1; i >= 0; i-- {
		if r.cells[i].content() {
			if r.cells[i].wide() {
				return i + 2
			}
			return i + 1
		}
	}
	return 0
}

func (r *row) reset(cols int, fill cell) {
	r.wrapped = false
	r.cells = r.cells[:0]
	r.packed.reset()
	if fill != (cell{}) {
		r.fill(0, cols, cols, fill)
	}
}
