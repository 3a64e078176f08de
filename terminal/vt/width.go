package vt

import (
	"sort"
	"sync/atomic"

	"github.com/rivo/uniseg"
)

// A rune's properties are one byte: its grapheme break class and whether it is
// wide. They are derived from uniseg page by page and kept, so that text costs
// one look-up a rune.
type props uint8

const (
	gbOther props = iota
	gbPrepend
	gbExtend // Extend, SpacingMark and ZWJ all join what is before
	gbZWJ
	gbRegional
	gbL
	gbV
	gbT
	gbLV
	gbLVT
	gbPictographic

	gbMask props = 15
	isWide props = 16
)

const pageBits = 8

type propsPage [1 << pageBits]props

var propsPages [(0x10ffff + 1) >> pageBits]atomic.Pointer[propsPage]

func propsOf(r rune) props {
	page := propsPages[r>>pageBits].Load()
	if page == nil {
		page = loadProps(r >> pageBits)
	}
	return page[r&(1<<pageBits-1)]
}

// loadProps fills a page. Pages of one value throughout, which most are, share
// their memory.
func loadProps(index rune) *propsPage {
	page := new(propsPage)
	same := true
	for i := range page {
		page[i] = deriveProps(index<<pageBits | rune(i))
		same = same && page[i] == page[0]
	}
	if same {
		shared := &uniformPages[page[0]]
		shared.CompareAndSwap(nil, page)
		page = shared.Load()
	}
	propsPages[index].Store(page)
	return page
}

var uniformPages [32]atomic.Pointer[propsPage]

// deriveProps asks uniseg how a rune behaves beside others, because its
// tables are not exported.
func deriveProps(r rune) props {
	if r < 0xa0 {
		return gbOther
	}
	if p, ok := exception(r); ok {
		return p
	}
	var p props
	if wideRune(r) {
		p = isWide
	}
	s := string(r)
	switch {
	case r == 0x200d:
		return p | gbZWJ
	case r >= 0x1f1e6 && r <= 0x1f1ff:
		return gbRegional
	case joins("a" + s):
		return p | gbExtend
	case joins(s + "a"):
		return p | gbPrepend
	case joins("❤\u200d" + s):
		return p | gbPictographic
	}
	return p | hangulClass(r)
}

func exception(r rune) (props, bool) {
	i := sort.Search(len(propsExceptions), func(i int) bool { return propsExceptions[i].last >= r })
	if i < len(propsExceptions) && propsExceptions[i].first <= r {
		return propsExceptions[i].props, true
	}
	return 0, false
}

func joins(s string) bool { return uniseg.GraphemeClusterCount(s) == 1 }

func hangulClass(r rune) props {
	switch {
	case r >= 0x1100 && r <= 0x115f, r >= 0xa960 && r <= 0xa97c:
		return gbL
	case r >= 0x1160 && r <= 0x11a7, r >= 0xd7b0 && r <= 0xd7c6:
		return gbV
	case r >= 0x11a8 && r <= 0x11ff, r >= 0xd7cb && r <= 0xd7fb:
		return gbT
	case r >= 0xac00 && r <= 0xd7a3:
		if (r-0xac00)%28 == 0 {
			return gbLV
		}
		return gbLVT
	}
	return gbOther
}

func wideRune(r rune) bool {
	return r == 0xfe0f || uniseg.StringWidth(string(r)) == 2
}

// join is what the next rune is joined to: the class and the width of the
// cluster before the cursor. The zero join joins nothing, as after any control
// function.
type join struct {
	class props // of the last rune
	width uint8
}

var joinNarrow = join{gbOther, 1}

// after returns the join after r and whether r belongs to the cluster before.
func (j join) after(r rune) (next join, joined bool) {
	p := propsOf(r)
	next = join{p & gbMask, 1}
	if p&isWide != 0 {
		next.width = 2
	}
	if j.width == 0 || !joinable(j.class, next.class) {
		return next, false
	}
	if next.class == gbRegional { // a third one begins a new flag
		return join{gbOther, 2}, true
	}
	next.width = max(next.width, j.width)
	return next, true
}

func joinable(before, after props) bool {
	switch after {
	case gbExtend, gbZWJ:
		return true
	case gbL, gbLV, gbLVT:
		if before == gbL {
			return true
		}
	case gbV:
		if before == gbL || before == gbV || before == gbLV {
			return true
		}
	case gbT:
		if before == gbV || before == gbT || before == gbLV || before == gbLVT {
			return true
		}
	case gbRegional:
		if before == gbRegional {
			return true
		}
	case gbPictographic:
		if before == gbZWJ {
			return true
		}
	}
	return before == gbPrepend
}
