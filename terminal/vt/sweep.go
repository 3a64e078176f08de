package vt

// A sweep that freed little is followed by the next one only after
// sweepInterval lines or refusals, so that hostile input cannot make each
// character cost one.
const (
	worthSweeping = 500
	sweepInterval = 1000
)

// extra returns the number of e, 0 if too many are in use.
func (t *Terminal) extra(e extra) uint32 {
	id, ok := t.extras.id(e)
	if !ok && t.sweep() {
		id, _ = t.extras.id(e)
	}
	return id
}

// cluster returns the number of s. It reports false if too many are in use.
func (t *Terminal) cluster(s string) (uint32, bool) {
	id, ok := t.clusters.id(s)
	if !ok && t.sweep() {
		id, ok = t.clusters.id(s)
	}
	return id, ok
}

// sweep drops the extras and clusters that nothing uses. It reports false
// where it is too early to try.
func (t *Terminal) sweep() bool {
	if t.sweepWait > 0 {
		t.sweepWait--
		return false
	}
	extras := make([]bool, len(t.extras.items)+1)
	clusters := make([]bool, len(t.clusters.items)+1)
	mark := func(r *row) {
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
	if freed < worthSweeping {
		t.sweepWait = sweepInterval
	}
	return true
}
