package vt

const (
	maxParams = 32
	maxParam  = 1<<31 - 1
)

// params are the numbers of a control sequence: parameters with ";" between
// them, each with sub-parameters after ":". What is left out is 0, for a
// sub-parameter -1. What is over the limits is ignored.
type params struct {
	n        int
	v        [maxParams]int32
	subEnd   [maxParams]uint8 // end of the sub-parameters of v[i] in sub
	nsub     int
	sub      [maxParams]int32
	inSub    bool
	overflow bool // drop digits until the next separator that fits
}

func (p *params) reset() {
	p.n, p.nsub = 1, 0
	p.v[0], p.subEnd[0] = 0, 0
	p.inSub, p.overflow = false, false
}

func (p *params) next() {
	p.inSub = false
	if p.n == maxParams {
		p.overflow = true
		return
	}
	p.v[p.n], p.subEnd[p.n] = 0, uint8(p.nsub)
	p.n++
}

func (p *params) nextSub() {
	p.inSub = true
	if p.n == maxParams && p.overflow || p.nsub == maxParams {
		p.overflow = true
		return
	}
	p.sub[p.nsub] = -1
	p.nsub++
	p.subEnd[p.n-1] = uint8(p.nsub)
}

func (p *params) digit(d int32) {
	if p.overflow && (p.inSub || p.n == maxParams) {
		return
	}
	v := &p.v[p.n-1]
	if p.inSub {
		v = &p.sub[p.nsub-1]
	}
	if *v < 0 {
		*v = d
		return
	}
	if *v > (maxParam-9)/10 {
		*v = maxParam
		return
	}
	*v = *v*10 + d
}

// get returns parameter i, 0 if it was left out.
func (p *params) get(i int) int {
	if i >= p.n {
		return 0
	}
	return int(p.v[i])
}

// count returns parameter i where 0 means 1.
func (p *params) count(i int) int { return max(1, p.get(i)) }

// subs returns the sub-parameters of parameter i.
func (p *params) subs(i int) []int32 {
	start := 0
	if i > 0 {
		start = int(p.subEnd[i-1])
	}
	return p.sub[start:p.subEnd[i]]
}
