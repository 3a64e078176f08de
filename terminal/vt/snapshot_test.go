package vt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// roundTrips are inputs that each bring the terminal into a state of its own.
var roundTrips = []string{
	"\x1b[44m0123456789\x1b[0m\x1b[?1047h\x1b[3;1Hblank lines around", // a filled line, and its wrap pending
	"hello\r\nworld",
	"\x1b[31;1mred\x1b[44m blue\x1b[K\r\n\x1b[0mplain",
	"0123456789ABCDEF",  // wraps
	"0123456789",        // pending wrap
	"0123456789\x1b[1m", // pending wrap, style changed since
	"012345678一二三四",     // a wide character does not fit
	"a一\x1b[2Gb",        // half of a wide character overwritten
	"\x1b[41m012345678一二三四五六七八九十一二三四五六七", // the same with a background, scrolling
	"e\u0301\u0302x",
	"\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\U0001f1e9",
	"❤\ufe0f❤",
	"12345678❤\ufe0fx",
	"123456789❤\ufe0f",
	"\x1b[?7l0123456789一\u0301",
	"\x1b[2;4r\x1b[?6h\x1b[3;3Hx\x1b7\x1b[H",
	"\x1b[?69h\x1b[3;7s\x1b[2;4r\x1b[?6habcdefghij\x1b[?6l",
	"\x1b[?69h\x1b[3;7s\x1b[1;3Habcde",
	"main\x1b[?1049hother\x1b[5;5H\x1b7\x1b[=3u\x1b[>5u",
	"main\x1b[?1049hother\x1b[5;5H\x1b7\x1b[>5u\x1b[?1049l",
	"\x1b(0lqqk\x1b)A\x0e#\x1b*0\x1bNq",
	"\x1b(0lqqk",
	"\x1b)0\x0elqqk\u0301",
	"\x1bN",
	"\x1b]2;title\x07\x1b[22;0t\x1b]0;other\x1b\\\x1b]7;file:///tmp\x07",
	"\x1b]9;4;1;50\x07a\x1b]9;4;2\x1b\\b\x1b]9;4;3\x07c\x1b]9;4;0\x07",
	"\x1b]8;id=a;http://example.com/\x1b\\link\x1b]8;;\x1b\\ none",
	"\x1b[4:3m\x1b[58:2::1:2:3mcurly\x1b[59m\x1b[53mover",
	"\x1b]4;1;rgb:11/22/33\x1b\\\x1b]10;#fff\x07\x1b]12;rgb:1/2/3\x07",
	"\x1b[?1h\x1b=\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2026h\x1b[?25l\x1b[5 q\x1b[4h\x1b[20h",
	"abc\x1b[4h\x1b[2Gx\u0301",
	"\x1b[?69h\x1b[3;s\x1b[4h00", // inserted outside of the margins
	"\x1b[3g\x1b[5G\x1bH\x1b[1G\tx",
	"\x1b[1\"qkeep\x1b[0\"qdrop\x1b[?2K",
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n0123456789ABC\r\nend",
	"\x1b[42m1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n\x1b[0m8",
	"\x1b#8\x1b[2;2H\x1b[1J",
	"\x1b[1;1H0123456789\x1b[K\x1b[1K",
	"0123456789\x1b[S",
	"0123456789\x1b[1;5Hxx\x1b[10G\x1b[P\r\n\x1b[AABCDEFGHIJKLMN\x1b[1;10H\x1b[X",
	"\x1bP$qm\x1b\\\x1bPunknown\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\x",
	"\x1b]52;c;aGVsbG8=\x07\x1b]9;note\x07",
	"\xe4\xb8x\xff\xf0\x9f\x98\xe4\xb8\x80",
	"\u009b31mc1\u0085next\u009d2;t\u009c",
	"\x1b[1;2\x18a\x1b[1\x07;2Hb\x1b[\x1b[3mc\x1b[1<2mc\x1b[ 1md",
	"\x1b]x;y\x07z\x1b]\x07z\x1b]12345678901;x\x07z",
	"\x1b[4;7m012345678一二",
	"\x1b[2;4r\x1b[?6h\x1b[3;3H\x1b7\x1b[?6l\x1b[1;2r\x1b[?6h",
	"\x1b[?69h\x1b[3;7s\x1b[1;3Habcde\x1b7\x1b[D\n\b\b\b\b\b\b",
	"\x1b[41m\x1b[2J0123456789AB\x1b[3X",
	"\x1b[1;5H\x1b[42m\x1b[1K\x1b[m\x1b[10Gx\x1b[X一",
	"\x1b[38;5;200m1\x1b[38;2;1;2;3m2\x1b[38:2:1:2:3m3\x1b[38:2::1:2:3m4\x1b[48:5:7m5\x1b[97;107m6",
}

func restored(t *Terminal) *Terminal {
	r := New(Options{Cols: t.cols, Rows: t.rows, ScrollbackBytes: t.scrollback.budget})
	r.Write(t.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1}))
	return r
}

func TestSnapshotAtEveryByte(t *testing.T) {
	for _, in := range roundTrips {
		for cut := range len(in) + 1 {
			a := New(Options{Cols: 10, Rows: 6})
			a.Write([]byte(in[:cut]))
			b := restored(a)
			if da, db := a.dump(), b.dump(); da != db {
				t.Fatalf("%q cut at %d: snapshot %q\n--- fed\n%s--- restored\n%s", in, cut,
					a.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1}), da, db)
			}
			rest := []byte(in[cut:] + "x\u0301\r\nend")
			a.Write(rest)
			b.Write(rest)
			if da, db := a.dump(), b.dump(); da != db {
				t.Fatalf("%q cut at %d, then fed the rest\n--- fed\n%s--- restored\n%s", in, cut, da, db)
			}
		}
	}
}

// The same at other sizes, down to the smallest, and after a resize.
func TestSnapshotAtOtherSizes(t *testing.T) {
	sizes := [][2]int{{2, 1}, {10, 1}, {3, 2}, {5, 4}, {80, 24}}
	for _, in := range roundTrips {
		for _, from := range sizes {
			a := fed(from[0], from[1], in)
			for _, to := range sizes {
				a.Resize(to[0], to[1])
				b := restored(a)
				if x, y := a.dump(), b.dump(); x != y {
					t.Fatalf("%q at %v, then at %v\n--- fed\n%s--- restored\n%s", in, from, to, x, y)
				}
			}
		}
	}
}

// Sequences that are too long to keep come back as ones that are skipped.
func TestSnapshotOfLongSequences(t *testing.T) {
	for _, in := range []string{
		"\x1b[" + strings.Repeat("1;", maxSequence),
		"\x1b" + strings.Repeat(" ", 2*maxSequence),
		"\x1bP" + strings.Repeat("1;", maxSequence),
		"\x1bP$q" + strings.Repeat("m", maxString+1),
		"\x1bP$q" + strings.Repeat("ä", maxString/2),
		"\x1b]0;" + strings.Repeat("t", maxString+1),
		"\x1b]0;" + strings.Repeat("ä", maxString/2),
	} {
		a := fed(10, 3, in)
		b := restored(a)
		if x, y := a.dump(), b.dump(); x != y {
			t.Errorf("%.10q...\n--- fed\n%s--- restored\n%s", in, x, y)
		}
		if n := len(a.AppendSnapshot(nil, SnapshotOptions{})); n > 1000 {
			t.Errorf("%.10q...: the snapshot has %d bytes", in, n)
		}
		a.Write([]byte("m\x1b\\x"))
		if got := shown(a); got != "x" {
			t.Errorf("%.10q... and its end: shows %q", in, got)
		}
	}
}

// A snapshot ends what was unfinished before it, asks nothing, and makes no
// noise.
func TestSnapshotIsQuiet(t *testing.T) {
	quiet := []EventKind{EventTitle, EventDirectory, EventProgress, EventColor}
	for _, in := range roundTrips {
		for cut := range len(in) + 1 {
			s := fed(10, 6, in[:cut]).AppendSnapshot(nil, SnapshotOptions{Scrollback: -1})
			if !bytes.HasPrefix(s, []byte("\x1b\\")) {
				t.Fatalf("%q cut at %d: snapshot %q does not begin with ST", in, cut, s)
			}
			b := New(Options{
				Cols: 10, Rows: 6,
				Event: func(e Event) {
					if !slices.Contains(quiet, e.Kind) {
						t.Errorf("%q cut at %d: snapshot %q makes the event %v", in, cut, s, e)
					}
				},
				Answer: func(a []byte) { t.Errorf("%q cut at %d: snapshot %q asks for %q", in, cut, s, a) },
			})
			b.Write([]byte("\x1b]0;unfinished"))
			b.Write(s)
		}
	}
}

// The number of lines asked for is drawn, and no more.
func TestSnapshotScrollback(t *testing.T) {
	a := New(Options{Cols: 10, Rows: 3})
	for i := range 100 {
		fmt.Fprintf(a, "%d\r\n", i)
	}
	for _, c := range []struct{ ask, want int }{{0, 0}, {1, 1}, {50, 50}, {1000, 98}, {-1, 98}} {
		b := New(Options{Cols: 10, Rows: 3})
		b.Write(a.AppendSnapshot(nil, SnapshotOptions{Scrollback: c.ask}))
		if b.scrollback.lines != c.want {
			t.Errorf("Scrollback %d: %d lines, want %d", c.ask, b.scrollback.lines, c.want)
		}
		if x, y := a.Text(TextOptions{}), b.Text(TextOptions{}); x != y {
			t.Errorf("Scrollback %d: %q, want %q", c.ask, y, x)
		}
	}
}

// AppendSnapshot keeps what is in dst, and leaves the Terminal as it is.
func TestAppendSnapshot(t *testing.T) {
	for _, in := range roundTrips {
		a := fed(10, 6, in)
		before := a.dump()
		got := a.AppendSnapshot([]byte("prefix"), SnapshotOptions{})
		if want := append([]byte("prefix"), a.AppendSnapshot(nil, SnapshotOptions{})...); !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if after := a.dump(); after != before {
			t.Errorf("%q: before\n%safter\n%s", in, before, after)
		}
	}
}

// Bytes that a program invents for DCS = z do no harm.
func TestRestoreIsSound(t *testing.T) {
	for _, data := range []string{"", "b", "b999999", "c", "c99999;99999", "c-1;-1", "j", "j99;99;99", "p", "w", "t", "t99999", "x", "b;;;;;", "jx;y;z"} {
		a := fed(10, 3, "一二三\x1bP=z"+data+"\x1b\\\u0301x一\u0301")
		checkSound(t, a)
	}
}
