package vt

const tabWidth = 8

// tabs is the set of columns with a tab stop.
type tabs []uint64

func (s tabs) has(x int) bool { return x>>6 < len(s) && s[x>>6]>>(x&63)&1 != 0 }

func (s *tabs) set(x int, on bool) {
	for x>>6 >= len(*s) {
		if !on {
			return
		}
		*s = append(*s, 0)
	}
	if on {
		(*s)[x>>6] |= 1 << (x & 63)
	} else {
		(*s)[x>>6] &^= 1 << (x & 63)
	}
}

// reset sets a stop every eight columns.
func (s *tabs) reset(cols int) {
	clear(*s)
	for x := 0; x < cols; x += tabWidth {
		s.set(x, true)
	}
}

// resize sets the stops that follow the last one. Those past the last column
// are kept for a wider screen.
func (s *tabs) resize(cols int) {
	x := cols - 1
	for x > 0 && !s.has(x) {
		x--
	}
	for ; x < cols; x += tabWidth {
		s.set(x, true)
	}
}

// next is the column that a tab at x goes to: the last one if there is no
// stop.
func (s tabs) next(x, cols int) int {
	for x++; x < cols; x++ {
		if s.has(x) {
			return x
		}
	}
	return cols - 1
}

func (s tabs) previous(x int) int {
	for x--; x > 0; x-- {
		if s.has(x) {
			return x
		}
	}
	return 0
}

func (t *Terminal) tab() {
	if t.x < t.cols {
		t.tabTo(1)
	}
}

// tabTo moves n stops forward, not past the right margin.
func (t *Terminal) tabTo(n int) {
	t.wrapAt = 0
	_, right, _ := t.margins()
	end := right + 1
	if t.x > right {
		end = t.cols
	}
	for i := 0; i < n && t.x < end-1; i++ {
		t.x = t.scr.tabs.next(t.x, end)
	}
}

func (t *Terminal) tabForward() {
	if t.x < t.cols {
		t.tabTo(t.parser.params.count(0))
	}
}

func (t *Terminal) tabBackward() {
	if t.x >= t.cols {
		return
	}
	t.wrapAt = 0
	for i := 0; i < t.parser.params.count(0) && t.x > 0; i++ {
		t.x = t.scr.tabs.previous(t.x)
	}
}

func (t *Terminal) setTab() {
	if t.x < t.cols {
		t.scr.tabs.set(t.x, true)
	}
}

func (t *Terminal) clearTab() {
	switch t.parser.params.get(0) {
	case 0:
		t.scr.tabs.set(t.x, false)
	case 3:
		clear(t.scr.tabs)
	}
}
