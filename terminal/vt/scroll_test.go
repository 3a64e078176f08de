package vt

import (
	"fmt"
	"strings"
	"testing"
)

func TestScroll(t *testing.T) {
	const lines = "1\r\n2\r\n3\r\n4\r\n5"
	runScreenCases(t, 10, 5, []screenCase{
		{"line feed at the bottom", lines + "\n6", "2\n3\n4\n5\n 6"},
		{"line feed at the region's bottom", lines + "\x1b[2;4r\x1b[4;1H\n6", "1\n3\n4\n6\n5"},
		{"line feed below the region", lines + "\x1b[2;4r\x1b[5;1H\n6", "1\n2\n3\n4\n6"},
		{"new line mode", "a\x1b[20h\nb", "a\nb"},
		{"index", lines + "\x1bD6", "2\n3\n4\n5\n 6"},
		{"next line", "a\x1bEb", "a\nb"},
		{"reverse index", lines + "\x1b[H\x1bM0", "0\n1\n2\n3\n4"},
		{"insert lines", lines + "\x1b[2;3H\x1b[2Lx", "1\nx\n\n2\n3"},
		{"delete lines", lines + "\x1b[2;3H\x1b[2Mx", "1\nx\n5"},
		{"lines outside of the region", lines + "\x1b[2;3r\x1b[5;1H\x1b[M\x1b[L", lines2},
		{"scroll up", lines + "\x1b[2S", "3\n4\n5"},
		{"scroll down", lines + "\x1b[2T", "\n\n1\n2\n3"},
		{"insert characters", "abc\x1b[2G\x1b[2@", "a  bc"},
		{"delete characters", "abcdef\x1b[2G\x1b[2P", "adef"},
		{"insert cuts a wide one", "a一b\x1b[3G\x1b[@", "a   b"},
		{"delete cuts a wide one", "a一b\x1b[3G\x1b[P", "a b"},
		{"huge counts", lines + "\x1b[2;2H\x1b[2147483647L\x1b[99999999999999M\x1b[9999999@\x1b[9999999P", "1"},
		{"scroll left and right", "abc\x1b[ @\x1b[2 A", "  bc"},
	})
}

const lines2 = "1\n2\n3\n4\n5"

func TestErase(t *testing.T) {
	const full = "0123456789\r\nabcdefghij\r\nABCDEFGHIJ\x1b[2;5H"
	runScreenCases(t, 10, 3, []screenCase{
		{"below", full + "\x1b[J", "0123456789\nabcd"},
		{"above", full + "\x1b[1J", "\n     fghij\nABCDEFGHIJ"},
		{"all", full + "\x1b[2J", ""},
		{"right", full + "\x1b[K", "0123456789\nabcd\nABCDEFGHIJ"},
		{"left", full + "\x1b[1K", "0123456789\n     fghij\nABCDEFGHIJ"},
		{"line", full + "\x1b[2K", "0123456789\n\nABCDEFGHIJ"},
		{"characters", full + "\x1b[3X", "0123456789\nabcd   hij\nABCDEFGHIJ"},
		{"characters past the edge", full + "\x1b[999999X", "0123456789\nabcd\nABCDEFGHIJ"},
		{"protected stay", "ab\x1b[1\"qcd\x1b[2\"qef\x1b[?2K", "  cd"},
		{"protected stay on the display", "ab\x1b[1\"qcd\x1b[0\"qef\x1b[?2J", "  cd"},
		{"protected go otherwise", "ab\x1b[1\"qcd\x1b[2K", ""},
		{"alignment", "\x1b#8", "EEEEEEEEEE\nEEEEEEEEEE\nEEEEEEEEEE"},
	})
}

func TestTabs(t *testing.T) {
	runScreenCases(t, 30, 2, []screenCase{
		{"every eight", "a\tb\tc", "a       b       c"},
		{"to the last column", "\x1b[28Ga\tb", strings.Repeat(" ", 27) + "a b"},
		{"own stop", "\x1b[4G\x1bH\r\tx", "   x"},
		{"cleared stop", "\x1b[9G\x1b[g\r\tx", strings.Repeat(" ", 16) + "x"},
		{"all cleared", "\x1b[3g\tx", strings.Repeat(" ", 29) + "x"},
		{"forward", "\x1b[2Ix", strings.Repeat(" ", 16) + "x"},
		{"backward", "\x1b[20G\x1b[2Zx", strings.Repeat(" ", 8) + "x"},
		{"huge counts", "\x1b[99999999I\x1b[99999999Zx", "x"},
	})
}

func TestCharsets(t *testing.T) {
	runScreenCases(t, 20, 2, []screenCase{
		{"line drawing", "\x1b(0lqk\x1b(Bq", "┌─┐q"},
		{"shift out and in", "\x1b)0q\x0eq\x0fq", "q─q"},
		{"G2 and G3", "\x1b*0\x1b+A\x1bnq\x1bo#\x0f#", "─£#"},
		{"single shifts", "\x1b*0\x1b+A\x1bNqq\x1bO##", "─q£#"},
		{"British", "\x1b(A#", "£"},
		{"not known", "\x1b(?q", "q"},
		{"soft reset", "\x1b(0\x1b[!pq", "q"},
		{"saved", "\x1b(0\x1b7\x1b(Bq\x1b8\x1b[2Gq", "q─"},
	})
}

// What leaves the top of the main screen can be had again, within the budget.
func TestScrollback(t *testing.T) {
	a := New(Options{Cols: 20, Rows: 3, ScrollbackBytes: 4 << 10})
	for i := range 1000 {
		fmt.Fprintf(a, "\x1b[3%dmline %d\r\n", i%8, i)
	}
	s := &a.scrollback
	if s.used > s.budget || s.used < s.budget-100 {
		t.Errorf("%d bytes of %d in use", s.used, s.budget)
	}
	text := a.Text(TextOptions{Scrollback: true})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != s.lines+2 || lines[len(lines)-1] != "line 999" || lines[0] != fmt.Sprintf("line %d", 1000-len(lines)) {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	physical := 0
	for _, c := range s.chunks {
		physical += cap(c.buf) + 4*cap(c.ends)
	}
	if physical > s.budget+2*maxChunk {
		t.Errorf("%d bytes are allocated for a budget of %d", physical, s.budget)
	}
	a.Write([]byte("\x1b[3J"))
	if s.lines != 0 || s.used != 0 {
		t.Errorf("after ED 3: %d lines", s.lines)
	}
}

func TestNoScrollback(t *testing.T) {
	a := New(Options{Cols: 20, Rows: 3, ScrollbackBytes: -1})
	a.Write([]byte("1\r\n2\r\n3\r\n4"))
	if got, want := a.Text(TextOptions{Scrollback: true}), "2\n3\n4\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAlternateHasNoScrollback(t *testing.T) {
	a := fed(20, 3, "main\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4\r\n5")
	if got, want := a.Text(TextOptions{Scrollback: true}), "3\n4\n5\n"; got != want {
		t.Errorf("alternate shows %q, want %q", got, want)
	}
	a.Write([]byte("\x1b[?1049l!"))
	if got, want := a.Text(TextOptions{Scrollback: true}), "main!\n"; got != want {
		t.Errorf("main shows %q, want %q", got, want)
	}
}
