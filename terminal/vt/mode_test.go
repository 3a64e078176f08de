package vt

import (
	"slices"
	"testing"
)

func TestModes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", []string{"wrap", "cursor-visible"}},
		{"\x1b[4;20h", []string{"insert", "new-line", "wrap", "cursor-visible"}},
		{"\x1b[?1;2004;1004;2026h\x1b[?7;25l", []string{"application-cursor-keys", "focus", "bracketed-paste", "synchronized-output"}},
		{"\x1b=", []string{"wrap", "cursor-visible", "application-keypad"}},
		{"\x1b=\x1b>", []string{"wrap", "cursor-visible"}},
		{"\x1b[?1000;1003;1006h", []string{"wrap", "cursor-visible", "mouse-1003", "mouse-encoding-1006"}},
		{"\x1b[?1003;1006h\x1b[?1000;1006l", []string{"wrap", "cursor-visible"}},
		{"\x1b[?1;7;2004;66;45h\x1b[4h\x1b[!p", []string{"wrap", "cursor-visible"}},
		{"\x1b[?1;7;2004;66;45;1003;12h\x1b[4;20h\x1bc", []string{"wrap", "cursor-visible"}},
	} {
		if got := New(Options{}); true {
			got.Write([]byte(c.in))
			if names := got.Cells().Modes; !slices.Equal(names, c.want) {
				t.Errorf("%q: modes %v, want %v", c.in, names, c.want)
			}
		}
	}
}

// A hard reset is as good as new.
func TestHardReset(t *testing.T) {
	for _, in := range roundTrips {
		a := fed(10, 6, in)
		a.Write([]byte("\x1b\\\x1bc"))
		a.title, a.icon, a.directory = "", "", "" // these stay
		if x, y := a.dump(), New(Options{Cols: 10, Rows: 6}).dump(); x != y {
			t.Errorf("%q and reset:\n%s\nnew:\n%s", in, x, y)
		}
	}
}

func TestAlternateScreen(t *testing.T) {
	runScreenCases(t, 10, 4, []screenCase{
		{"1049", "main\x1b[?1049hother", "    other"},
		{"1049 and back", "main\x1b[?1049hother\x1b[?1049l!", "main!"},
		{"47 keeps the cursor", "main\x1b[?47h\x1b[2;2H\x1b[?47l!", "main\n !"},
		{"blank each time", "\x1b[?1047ha\x1b[?1047l\x1b[?1047hb", " b"},
		{"twice", "main\x1b[?1049h\x1b[Hother\x1b[?1049h!", "other!"},
		{"1048", "ab\x1b[?1048h\x1b[H\x1b[?1048lc", "abc"},
	})
}
