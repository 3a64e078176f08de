package vt

import "unicode/utf8"

// finishRune completes a rune that the last Write ended within.
func (t *Terminal) finishRune(p []byte) int {
	ps := &t.parser
	for i, b := range p {
		ps.partial[ps.npart] = b
		ps.npart++
		r, n := decode(ps.partial[:ps.npart])
		if n == 0 {
			continue
		}
		used := i + 1 - (ps.npart - n)
		ps.npart = 0
		t.step(r)
		return used
	}
	return len(p)
}

// decode returns the first rune of p and its length, or length 0 where p ends
// within it. An invalid byte, or the longest valid beginning of a rune, is
// U+FFFD.
func decode(p []byte) (rune, int) {
	b := p[0]
	if b < utf8.RuneSelf {
		return rune(b), 1
	}
	lo, hi := byte(0x80), byte(0xbf)
	var need int
	var r rune
	switch {
	case b >= 0xc2 && b <= 0xdf:
		need, r = 1, rune(b&0x1f)
	case b >= 0xe0 && b <= 0xef:
		need, r = 2, rune(b&0x0f)
		if b == 0xe0 {
			lo = 0xa0
		} else if b == 0xed {
			hi = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		need, r = 3, rune(b&0x07)
		if b == 0xf0 {
			lo = 0x90
		} else if b == 0xf4 {
			hi = 0x8f
		}
	default:
		return utf8.RuneError, 1
	}
	for i := 1; i <= need; i++ {
		if i >= len(p) {
			return 0, 0
		}
		if p[i] < lo || p[i] > hi {
			return utf8.RuneError, i
		}
		r = r<<6 | rune(p[i]&0x3f)
		lo, hi = 0x80, 0xbf
	}
	return r, need + 1
}
