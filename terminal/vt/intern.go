package vt

// intern numbers values, so that a cell holds a number instead of a value.
// Number 0 is the zero value. Both the number of values and their bytes are
// bounded. A sweep drops the values that no cell uses.
type intern[K comparable] struct {
	ids      map[K]uint32
	items    []K // items[id]; freed ones are zero
	free     []uint32
	size     func(K) int
	bytes    int
	maxItems int
	maxBytes int
}

func newIntern[K comparable](maxItems, maxBytes int, size func(K) int) intern[K] {
	return intern[K]{size: size, maxItems: maxItems, maxBytes: maxBytes}
}

func (t *intern[K]) value(id uint32) K {
	if int(id) < len(t.items) {
		return t.items[id]
	}
	var zero K
	return zero
}

// id numbers k. It reports false when the table is full.
func (t *intern[K]) id(k K) (uint32, bool) {
	var zero K
	if k == zero {
		return 0, true
	}
	if id, ok := t.ids[k]; ok {
		return id, true
	}
	if len(t.ids) >= t.maxItems || t.bytes+t.size(k) > t.maxBytes {
		return 0, false
	}
	if t.ids == nil {
		t.ids = make(map[K]uint32)
		t.items = append(t.items, zero)
	}
	var id uint32
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
		t.items[id] = k
	} else {
		id = uint32(len(t.items))
		t.items = append(t.items, k)
	}
	t.ids[k] = id
	t.bytes += t.size(k)
	return id, true
}

// sweep drops all values that used does not mark and returns how many these
// were.
func (t *intern[K]) sweep(used []bool) int {
	var zero K
	freed := 0
	for id := 1; id < len(t.items); id++ {
		k := t.items[id]
		if used[id] || k == zero {
			continue
		}
		t.bytes -= t.size(k)
		delete(t.ids, k)
		t.items[id] = zero
		t.free = append(t.free, uint32(id))
		freed++
	}
	return freed
}

// After a sweep that freed fewer than minFreed values, the next one has to
// wait for sweepInterval lines or refusals. Otherwise hostile input could make
// each character cost a sweep.
const (
	minFreed      = 500
	sweepInterval = 1000
)

// extra returns the number of e, or 0 where the table is full.
func (t *Terminal) extra(e extra) uint32 {
	id, ok := t.extras.id(e)
	if !ok && t.sweep() {
		id, _ = t.extras.id(e)
	}
	return id
}

// cluster returns the number of s. It reports false where the table is full.
func (t *Terminal) cluster(s string) (uint32, bool) {
	id, ok := t.clusters.id(s)
	if !ok && t.sweep() {
		id, ok = t.clusters.id(s)
	}
	return id, ok
}

// sweep drops the extras and clusters that no cell, pen or scrollback line
// uses. It reports false where the last sweep was too recent.
func (t *Terminal) sweep() bool {
	if t.sweepWait > 0 {
		t.sweepWait--
		return false
	}
	extras := make([]bool, len(t.extras.items)+1)
	clusters := make([]bool, len(t.clusters.items)+1)
	mark := func(r *row) {
		r.unpack()
		for i := range r.cells {
			c := &r.cells[i]
			extras[c.ext] = true
			if c.ch&chCluster != 0 {
				clusters[c.ch&chMask] = true
			}
		}
	}
	for _, s := range []*screen{t.main, t.alt} {
		for _, r := range s.rows {
			mark(r)
		}
		extras[s.saved.pen.ext] = true
	}
	for _, r := range t.scratch {
		mark(r)
	}
	extras[t.pen.ext] = true
	for _, s := range []*scrollback{&t.scrollback, t.oldScrollback} {
		if s == nil {
			continue
		}
		s.each(s.lines, func(line []byte) {
			for l := readLine(line); l.next(); {
				extras[l.style.ext] = true
			}
		})
	}
	freed := t.extras.sweep(extras) + t.clusters.sweep(clusters)
	if freed < minFreed {
		t.sweepWait = sweepInterval
	}
	return true
}
