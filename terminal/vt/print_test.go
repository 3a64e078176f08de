package vt

import (
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	runScreenCases(t, 10, 3, []screenCase{
		{"wraps", "0123456789ab", "0123456789\nab"},
		{"waits at the last column", "0123456789\rx", "x123456789"},
		{"does not wrap", "\x1b[?7l0123456789ab", "012345678b"},
		{"wide at the end", "012345678一x", "012345678\n一x"},
		{"wide does not fit and does not wrap", "\x1b[?7l012345678一x", "012345678x"},
		{"left half overwritten", "一x\rab", "abx"},
		{"right half overwritten", "一x\x1b[2Gb", " bx"},
		{"combining", "e\u0301x", "e\u0301x"},
		{"combining after a control", "e\x1b[m\u0301x", "e\u0301x"},
		{"insert", "abc\x1b[4h\x1b[2GX", "aXbc"},
		{"insert drops at the end", "0123456789\x1b[4h\x1b[1GX", "X012345678"},
		{"insert wide", "0123456789\x1b[4h\x1b[1G一", "一01234567"},
		{"repeat", "ab\x1b[3bc", "abbbbc"},
		{"repeat a cluster", "e\u0301\x1b[2b", "e\u0301e\u0301e\u0301"},
		{"repeat nothing", "a\x1b[m\x1b[3bb", "ab"},
		{"family", "\U0001f468\u200d\U0001f469\u200d\U0001f467x", "\U0001f468\u200d\U0001f469\u200d\U0001f467x"},
	})
}

func TestClusterWidths(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     int
	}{
		{"letter", "a", 1},
		{"CJK", "漢", 2},
		{"combining mark", "e\u0301", 1},
		{"emoji", "😀", 2},
		{"skin tone", "👍🏽", 2},
		{"flag", "🇩🇪", 2},
		{"half of a flag", "🇩", 1},
		{"two flags", "🇩🇪🇫🇷", 4},
		{"text that becomes an emoji", "❤\ufe0f", 2},
		{"the same as text", "❤", 1},
		{"family", "👨\u200d👩\u200d👧", 2},
		{"Hangul parts", "\u1112\u1161\u11ab", 2},
		{"fullwidth", "Ａ", 2},
		{"halfwidth", "ｱ", 1},
	} {
		if got := fed(20, 2, c.in).Cursor().Col; got != c.want {
			t.Errorf("%s: %q takes %d columns, want %d", c.name, c.in, got, c.want)
		}
	}
}

// A cluster that becomes wide in the last column moves to the next line.
func TestClusterMoves(t *testing.T) {
	a := fed(10, 3, "123456789❤\ufe0fx")
	if got, want := shown(a), "123456789\n❤\ufe0fx"; got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
	if !a.main.rows[1].wrapped {
		t.Error("the next line does not continue the first")
	}
}

func TestLongClusterIsCut(t *testing.T) {
	a := fed(10, 3, "e"+strings.Repeat("\u0301", 10000)+"x")
	if got := shown(a); len(got) > maxCluster+1 || !strings.HasSuffix(got, "x") {
		t.Errorf("shows %d bytes", len(got))
	}
}

// When all numbers are in use the clusters lose marks, and get them again once
// the screen is free.
func TestClustersRunOut(t *testing.T) {
	a := New(Options{Cols: 200, Rows: 200, ScrollbackBytes: -1})
	var in strings.Builder
	for i := range 40000 {
		in.WriteRune('a' + rune(i%26))
		in.WriteRune(0x300 + rune(i%100))
		in.WriteRune(0x300 + rune(i/100%100))
	}
	a.Write([]byte(in.String()))
	a.Write([]byte("\x1b[2J\x1b[H" + strings.Repeat("\n", 2*sweepInterval)))
	a.Write([]byte("\x1b[2J\x1b[He\u0301\u0302"))
	if got, want := shown(a), "e\u0301\u0302"; got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}
