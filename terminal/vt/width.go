package vt

import (
	"sort"
	"sync/atomic"

	"github.com/rivo/uniseg"
)

// runeProps are a rune's properties: its grapheme break class and whether it
// is wide. They are derived from uniseg a page of runes at a time and cached,
// so that printing costs one lookup a rune.
type runeProps uint8

const (
	gbOther runeProps = iota
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

	gbMask runeProps = 15
	isWide runeProps = 16
)

const pageBits = 8

type propsPage [1 << pageBits]runeProps

var propsPages [(0x10ffff + 1) >> pageBits]atomic.Pointer[propsPage]

func propsOf(r rune) runeProps {
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
func deriveProps(r rune) runeProps {
	if r < 0xa0 {
		return gbOther
	}
	if p, ok := exception(r); ok {
		return p
	}
	var p runeProps
	if wideRune(r) {
		p = isWide
	}
	s := string(r)
	switch {
	case r == 0x200d:
		return p | gbZWJ
	case r >= 0x1f1e6 && r <= 0x1f1ff:
		return gbRegional
	case isOneGrapheme("a" + s):
		return p | gbExtend
	case isOneGrapheme(s + "a"):
		return p | gbPrepend
	case isOneGrapheme("❤\u200d" + s):
		return p | gbPictographic
	}
	return p | hangulClass(r)
}

func exception(r rune) (runeProps, bool) {
	i := sort.Search(len(propsExceptions), func(i int) bool { return propsExceptions[i].last >= r })
	if i < len(propsExceptions) && propsExceptions[i].first <= r {
		return propsExceptions[i].props, true
	}
	return 0, false
}

func isOneGrapheme(s string) bool { return uniseg.GraphemeClusterCount(s) == 1 }

func hangulClass(r rune) runeProps {
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

// graphemeState decides whether the next rune continues the grapheme cluster
// before the cursor: the class of that cluster's last rune, and its width. The
// zero state, which holds after every control function, continues nothing.
type graphemeState struct {
	class runeProps // of the last rune
	width uint8
}

var afterNarrow = graphemeState{gbOther, 1}

// after returns the state after r. joined reports whether r continues the
// cluster.
func (j graphemeState) after(r rune) (next graphemeState, joined bool) {
	p := propsOf(r)
	next = graphemeState{p & gbMask, 1}
	if p&isWide != 0 {
		next.width = 2
	}
	if j.width == 0 || !continuesGrapheme(j.class, next.class) {
		return next, false
	}
	if next.class == gbRegional { // a third one begins a new flag
		return graphemeState{gbOther, 2}, true
	}
	next.width = max(next.width, j.width)
	return next, true
}

func continuesGrapheme(before, after runeProps) bool {
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

// propsExceptions are the runes that the data of xterm.js's addon has other
// properties for than uniseg: most are newer than that data. They are in
// order.
var propsExceptions = []struct {
	first, last rune
	props       runeProps
}{
	{0x890, 0x891, gbOther},
	{0x898, 0x89f, gbOther},
	{0x8ca, 0x8d2, gbOther},
	{0xc3c, 0xc3c, gbOther},
	{0xcf3, 0xcf3, gbOther},
	{0xece, 0xece, gbOther},
	{0x1715, 0x1715, gbOther},
	{0x180f, 0x180f, gbOther},
	{0x1ac1, 0x1ace, gbOther},
	{0x1dfa, 0x1dfa, gbOther},
	{0x302a, 0x302f, gbExtend | isWide},
	{0x3030, 0x3030, gbPictographic | isWide},
	{0x303d, 0x303d, gbPictographic | isWide},
	{0x3099, 0x309a, gbExtend | isWide},
	{0x3297, 0x3297, gbPictographic | isWide},
	{0x3299, 0x3299, gbPictographic | isWide},
	{0x10efd, 0x10eff, gbOther},
	{0x10f82, 0x10f85, gbOther},
	{0x11070, 0x11070, gbOther},
	{0x11073, 0x11074, gbOther},
	{0x110c2, 0x110c2, gbOther},
	{0x11241, 0x11241, gbOther},
	{0x11720, 0x11721, gbExtend},
	{0x11f00, 0x11f03, gbOther},
	{0x11f34, 0x11f3a, gbOther},
	{0x11f3e, 0x11f42, gbOther},
	{0x13440, 0x13440, gbOther},
	{0x13447, 0x13455, gbOther},
	{0x16fe4, 0x16fe4, gbExtend | isWide},
	{0x1aff0, 0x1aff3, gbOther},
	{0x1aff5, 0x1affb, gbOther},
	{0x1affd, 0x1affe, gbOther},
	{0x1b11f, 0x1b122, gbOther},
	{0x1b132, 0x1b132, gbOther},
	{0x1b155, 0x1b155, gbOther},
	{0x1cf00, 0x1cf2d, gbOther},
	{0x1cf30, 0x1cf46, gbOther},
	{0x1e08f, 0x1e08f, gbOther},
	{0x1e2ae, 0x1e2ae, gbOther},
	{0x1e4ec, 0x1e4ef, gbOther},
	{0x1f202, 0x1f202, gbPictographic | isWide},
	{0x1f237, 0x1f237, gbPictographic | isWide},
	{0x1f260, 0x1f265, gbPictographic | isWide},
	{0x1f3fb, 0x1f3ff, gbExtend | isWide},
	{0x1f6dc, 0x1f6df, gbPictographic},
	{0x1f7f0, 0x1f7f0, gbPictographic},
	{0x1f979, 0x1f979, gbPictographic},
	{0x1f9cc, 0x1f9cc, gbPictographic},
	{0x1fa75, 0x1fa77, gbPictographic},
	{0x1fa7b, 0x1fa7c, gbPictographic},
	{0x1fa87, 0x1fa88, gbPictographic},
	{0x1faa9, 0x1faaf, gbPictographic},
	{0x1fab7, 0x1fabd, gbPictographic},
	{0x1fabf, 0x1fabf, gbPictographic},
	{0x1fac3, 0x1fac5, gbPictographic},
	{0x1face, 0x1facf, gbPictographic},
	{0x1fad7, 0x1fadb, gbPictographic},
	{0x1fae0, 0x1fae8, gbPictographic},
	{0x1faf0, 0x1faf8, gbPictographic},
}
