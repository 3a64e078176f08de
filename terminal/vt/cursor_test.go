package vt

import "testing"

func TestCursor(t *testing.T) {
	for _, c := range []struct {
		name, in string
		col, row int
	}{
		{"up stops at the top", "\x1b[5;5H\x1b[99A", 4, 0},
		{"up stops at the region", "\x1b[3;6r\x1b[5;5H\x1b[99A", 4, 2},
		{"up from above the region", "\x1b[3;6r\x1b[2;5H\x1b[99A", 4, 0},
		{"down stops at the bottom", "\x1b[99B", 0, 7},
		{"down stops at the region", "\x1b[3;6r\x1b[4;1H\x1b[99B", 0, 5},
		{"forward stops at the edge", "\x1b[99C", 9, 0},
		{"backward", "abc\x1b[2D", 1, 0},
		{"backward from a pending wrap", "0123456789\x1b[D", 8, 0},
		{"position", "\x1b[3;4H", 3, 2},
		{"position beyond the screen", "\x1b[99;99H", 9, 7},
		{"position in origin mode", "\x1b[3;6r\x1b[?6h\x1b[2;2H", 1, 3},
		{"position below the region in origin mode", "\x1b[3;6r\x1b[?6h\x1b[99;1H", 0, 5},
		{"column", "\x1b[7G", 6, 0},
		{"row keeps the column", "\x1b[3;4H\x1b[6d", 3, 5},
		{"next line", "abc\x1b[2E", 0, 2},
		{"preceding line", "\x1b[5;5H\x1b[2F", 0, 2},
		{"save and restore", "\x1b[3;4H\x1b7\x1b[H\x1b8", 3, 2},
		{"restore without save", "\x1b[3;4H\x1b8", 0, 0},
		{"reverse wrap", "\x1b[?45h0123456789ab\b\b\b", 9, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fed(10, 8, c.in).Cursor(); got.Col != c.col || got.Row != c.row {
				t.Errorf("%q: cursor at %d,%d, want %d,%d", c.in, got.Col, got.Row, c.col, c.row)
			}
		})
	}
}

// DECSC saves more than the position.
func TestSaveCursor(t *testing.T) {
	a := fed(10, 4, "\x1b[2;3r\x1b[?6h\x1b[1;4;58:5:9m\x1b[1\"q\x1b)0\x0e0123456789\x1b7"+
		"\x1b[m\x1b[0\"q\x0f\x1b)B\x1b[?6l\x1b[H\x1b8")
	b := fed(10, 4, "\x1b[2;3r\x1b[?6h\x1b[1;4;58:5:9m\x1b[1\"q\x1b)0\x0e0123456789\x1b7")
	if a.dump() != b.dump() {
		t.Errorf("restored:\n%s\nsaved:\n%s", a.dump(), b.dump())
	}
}

func TestMargins(t *testing.T) {
	const on = "\x1b[?69h\x1b[3;6s" // columns 3 to 6
	runScreenCases(t, 10, 5, []screenCase{
		{"text wraps at the margin", on + "\x1b[1;3Habcdef", "  abcd\n  ef"},
		{"text outside fills the line", on + "\x1b[1;8Habcdef", "       abc\n  def"},
		{"carriage return", on + "\x1b[1;5Ha\rb", "  b a"},
		{"carriage return outside", on + "\x1b[1;1Ha\rb", "b"},
		{"forward stops", on + "\x1b[1;3H\x1b[99Cx", "     x"},
		{"backward stops", on + "\x1b[1;6H\x1b[99Dx", "  x"},
		{"scrolls inside alone", "0123456789\r\nabcdefghij" + on + "\x1b[5;3H\n", "01cdef6789\nab    ghij"},
		{"delete lines inside", "0123456789\r\nabcdefghij" + on + "\x1b[1;3H\x1b[M", "01cdef6789\nab    ghij"},
		{"insert lines inside", "0123456789\r\nabcdefghij" + on + "\x1b[1;3H\x1b[L", "01    6789\nab2345ghij\n  cdef"},
		{"insert characters inside", "0123456789" + on + "\x1b[1;4H\x1b[2@", "012  36789"},
		{"delete characters inside", "0123456789" + on + "\x1b[1;4H\x1b[2P", "0125  6789"},
		{"nothing outside", "0123456789" + on + "\x1b[1;8H\x1b[2P\x1b[2@\x1b[L\x1b[M", "0123456789"},
		{"origin", on + "\x1b[2;4r\x1b[?6h\x1b[1;1Hx", "\n  x"},
		{"columns", "0123456789" + on + "\x1b[1;4H\x1b['}\x1b['~\x1b[2'~", "012   6789"},
		{"tab stops at the margin", on + "\x1b[1;3H\tx", "     x"},
		{"off again", on + "\x1b[?69l\x1b[1;1H0123456789", "0123456789"},
		{"wide halves at the margin", "0一二三四5" + on + "\x1b[1;3H\x1b[P", "0 二   四5"},
	})
}
