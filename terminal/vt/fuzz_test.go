package vt

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func addSeeds(f *testing.F) {
	for _, in := range roundTrips {
		f.Add([]byte(in), uint8(len(in)/2), uint8(10), uint8(6))
	}
}

// feedFuzz feeds in to a small Terminal. Bytes 0xfe and 0xff, which are never
// a part of UTF-8, resize it on the way.
func feedFuzz(t *Terminal, in []byte) {
	start := 0
	for i := 0; i+1 < len(in); i++ {
		if in[i] >= 0xfe {
			t.Write(in[start:i])
			t.Resize(int(in[i+1]%40), int(in[i+1]/40))
			start = i + 2
			i++
		}
	}
	t.Write(in[start:])
}

// unpackAll gives all rows cells.
func (t *Terminal) unpackAll() {
	for _, s := range []*screen{t.main, t.alt} {
		for _, r := range s.rows {
			r.unpack()
		}
	}
}

// FuzzParser checks that the outcome does not depend on how the input is cut, or
// on which rows are packed, and that the state stays sound.
func FuzzParser(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, cut, cols, rows uint8) {
		o := Options{Cols: int(cols%40) + 1, Rows: int(rows%12) + 1, ScrollbackBytes: 4 << 10, Answer: func([]byte) {}}
		whole, split := New(o), New(o)
		whole.Write(in)
		n := min(int(cut), len(in))
		split.Write(in[:n])
		for _, b := range in[n:] {
			split.Write([]byte{b})
			split.unpackAll()
		}
		if a, b := whole.dump(), split.dump(); a != b {
			t.Fatalf("%q fed whole:\n%s\nfed cut at %d:\n%s", in, a, n, b)
		}
		feedFuzz(whole, in)
		checkSound(t, whole)
	})
}

// FuzzSnapshot checks that a snapshot brings the state back, and that it stays
// equal afterwards.
func FuzzSnapshot(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, cut, cols, rows uint8) {
		a := New(Options{Cols: int(cols%40) + 1, Rows: int(rows%12) + 1, ScrollbackBytes: 64 << 10})
		n := min(int(cut), len(in))
		feedFuzz(a, in[:n])
		b := restored(a)
		if x, y := a.dump(), b.dump(); x != y {
			t.Fatalf("%q fed:\n%s\nrestored from %q:\n%s", in[:n], x, a.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1}), y)
		}
		feedFuzz(a, in[n:])
		feedFuzz(b, in[n:])
		if x, y := a.dump(), b.dump(); x != y {
			t.Fatalf("%q, then %q fed:\n%s\nrestored:\n%s", in[:n], in[n:], x, y)
		}
	})
}

// FuzzText checks that the outputs are valid UTF-8 and that text with styles
// has the same text.
func FuzzText(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, in []byte, flags, cols, rows uint8) {
		a := New(Options{Cols: int(cols%40) + 1, Rows: int(rows%12) + 1, ScrollbackBytes: 4 << 10})
		feedFuzz(a, in)
		o := TextOptions{Scrollback: flags&1 != 0, KeepBlanks: flags&2 != 0, JoinWraps: flags&4 != 0}
		text := a.Text(o)
		if !utf8.ValidString(text) {
			t.Fatalf("text %q is not UTF-8", text)
		}
		a.ANSI(o)
		if f := a.Cells(); len(f.Lines) != f.Rows {
			t.Fatalf("%d lines of %d rows", len(f.Lines), f.Rows)
		}
	})
}

// checkSound checks what must always hold.
func checkSound(t *testing.T, a *Terminal) {
	t.Helper()
	if a.x < 0 || a.x > a.cols || a.y < 0 || a.y >= a.rows {
		t.Fatalf("cursor %d,%d is outside of %dx%d", a.x, a.y, a.cols, a.rows)
	}
	for _, s := range []*screen{a.main, a.alt} {
		if len(s.rows) != a.rows || s.top < 0 || s.top > s.bottom || s.bottom >= a.rows {
			t.Fatalf("%d rows, region %d-%d", len(s.rows), s.top, s.bottom)
		}
		for y, r := range s.rows {
			if len(r.cells) > 0 && len(r.packed.items) > 0 {
				t.Fatalf("row %d is packed, and has cells", y)
			}
			packed := a.encodeLine(nil, r)
			r.unpack()
			if cells := a.encodeLine(nil, r); !bytes.Equal(packed, cells) {
				t.Fatalf("row %d was packed as %q, and is %q", y, packed, cells)
			}
			if len(r.cells) > a.cols {
				t.Fatalf("row %d has %d cells", y, len(r.cells))
			}
			for x, c := range r.cells {
				if c.wide() && !r.at(x+1).spacer() || c.spacer() && !r.at(x-1).wide() {
					t.Fatalf("row %d column %d is half of a wide character", y, x)
				}
			}
		}
	}
}
