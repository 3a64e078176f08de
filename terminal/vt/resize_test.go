package vt

import (
	"fmt"
	"strings"
	"testing"
)

func TestResizeBounds(t *testing.T) {
	for _, c := range []struct{ cols, rows, wantCols, wantRows int }{
		{80, 24, 80, 24},
		{1, 1, 2, 1},
		{-5, -5, 2, 1},
		{10000, 10000, 2000, 65},
		{10000, 1, 2000, 1},
		{1, 10000, 2, 1000},
		{400, 300, 400, 300},
		{500, 300, 500, 262},
	} {
		a := New(Options{})
		a.Resize(c.cols, c.rows)
		if cols, rows := a.Size(); cols != c.wantCols || rows != c.wantRows {
			t.Errorf("Resize(%d, %d) gives %d, %d, want %d, %d", c.cols, c.rows, cols, rows, c.wantCols, c.wantRows)
		}
		if cols, rows := New(Options{Cols: c.cols, Rows: c.rows}).Size(); cols != c.wantCols || rows != c.wantRows {
			t.Errorf("New at %d, %d gives %d, %d, want %d, %d", c.cols, c.rows, cols, rows, c.wantCols, c.wantRows)
		}
	}
	if cols, rows := New(Options{}).Size(); cols != 80 || rows != 24 {
		t.Errorf("New gives %d, %d", cols, rows)
	}
}

func TestReflow(t *testing.T) {
	for _, c := range []struct {
		name       string
		in         string
		cols, rows int
		want       string
	}{
		{"narrower", "0123456789\r\n$ ", 5, 4, "01234\n56789\n$"},
		{"wider", "0123456789abc\r\n$ ", 20, 4, "0123456789abc\n$"},
		{"the cursor's line stays", "0123456789", 5, 4, "01234"},
		{"wide characters stay whole", "一二三四五\r\n$ ", 5, 4, "一二\n三四\n五\n$"},
		{"wide characters wider", "012345678一\r\n$ ", 20, 4, "012345678一\n$"},
		{"the alternate screen is cut", "\x1b[?1049h0123456789", 5, 4, "01234"},
		{"lower", "1\r\n2\r\n3\r\n4", 10, 2, "3\n4"},
		{"lower, with the cursor above", "1\r\n2\r\n3\x1b[H", 10, 2, "1\n2"},
		{"higher takes from the scrollback", "1\r\n2\r\n3\r\n4\r\n5\r\n6", 10, 6, "1\n2\n3\n4\n5\n6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := fed(10, 4, c.in)
			a.Resize(c.cols, c.rows)
			if got := shown(a); got != c.want {
				t.Errorf("shows %q, want %q", got, c.want)
			}
		})
	}
}

// Text that wrapped is the same text at any width.
func TestReflowKeepsText(t *testing.T) {
	a := New(Options{Cols: 20, Rows: 6})
	for i := range 200 {
		fmt.Fprintf(a, "\x1b[3%dmline %d %s\x1b[m 漢字 e\u0301\r\n", i%8, i, strings.Repeat("text ", i%9))
	}
	o := TextOptions{Scrollback: true, JoinWraps: true}
	want := a.Text(o)
	for _, size := range [][2]int{{7, 6}, {33, 10}, {5, 3}, {200, 50}, {11, 4}, {20, 6}} {
		a.Resize(size[0], size[1])
		if got := a.Text(o); got != want {
			t.Fatalf("at %dx%d:\n%s\nwant\n%s", size[0], size[1], got, want)
		}
	}
}

// A line of a megabyte is wrapped anew without much memory.
func TestReflowLongLine(t *testing.T) {
	a := New(Options{Cols: 80, Rows: 24})
	a.Write([]byte(strings.Repeat("0123456789", 100<<10) + "\r\nend"))
	before := a.scrollback.lines
	a.Resize(40, 24)
	if got := a.scrollback.lines; got < 2*before-maxRejoined {
		t.Errorf("%d lines became %d", before, got)
	}
	a.Resize(80, 24)
	if got := a.scrollback.lines; got < before-maxRejoined || got > before+maxRejoined {
		t.Errorf("%d lines became %d", before, got)
	}
}

// A resize in the middle of which the tables are swept loses neither clusters
// nor links.
func TestReflowWhileTablesAreFull(t *testing.T) {
	a := New(Options{Cols: 20, Rows: 4})
	for i := range 6000 {
		fmt.Fprintf(a, "\x1b]8;;http://a/%d\x1b\\%c%c%c\x1b]8;;\x1b\\ ", i%3000, 'a'+i%26, 0x300+i%100, 0x300+i/100%100)
		if i%5 == 4 {
			a.Write([]byte("\r\n"))
		}
	}
	for i := range 6000 { // others, which are gone again
		fmt.Fprintf(a, "\r%c%c%c", 'A'+i%26, 0x300+i%100, 0x300+i/100%100)
	}
	o := TextOptions{Scrollback: true, JoinWraps: true}
	text, ansi := a.Text(o), a.ANSI(o)
	for _, cols := range []int{7, 40, 20} {
		a.Resize(cols, 4)
	}
	if a.Text(o) != text {
		t.Error("the text is another one")
	}
	if a.ANSI(o) != ansi {
		t.Error("the styles are others")
	}
}
