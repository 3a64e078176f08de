package vt

import "testing"

// TestGraphics reads the style back by DECRQSS.
func TestGraphics(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "0"},
		{"1;2;3;5;7;8;9;53", "0;1;2;3;5;7;8;9;53"},
		{"1;2;3;5;7;8;9;53;22;23;25;27;28;29;55", "0"},
		{"1;31;42;0", "0"},
		{"31;42", "0;31;42"},
		{"91;102", "0;91;102"},
		{"31;42;39;49", "0"},
		{"38;5;200", "0;38;5;200"},
		{"38:5:200", "0;38;5;200"},
		{"48;2;1;2;3", "0;48;2;1;2;3"},
		{"48:2:1:2:3", "0;48;2;2;3;0"}, // the first is the colour space, as in xterm.js
		{"48:2::1:2:3", "0;48;2;1;2;3"},
		{"38;2;1;2;3;48;5;7;1", "0;1;38;2;1;2;3;48;5;7"},
		{"4", "0;4"},
		{"4:3", "0;4:3"},
		{"4:0", "0"},
		{"4:9", "0;4"},
		{"21", "0;4:2"},
		{"4;24", "0"},
		{"4:3;58:5:9", "0;4:3;58:5:9"},
		{"4;58:2::1:2:3", "0;4;58:2::1:2:3"},
		{"4;58;5;9;59", "0;4"},
		{"38;5", "0;38;5;0"},
		{"38", "0"},
		{"999;1", "0;1"},
		{"38;2;300;1;1", "0;38;2;44;1;1"},
	} {
		var answer string
		a := New(Options{Answer: func(b []byte) { answer = string(b) }})
		a.Write([]byte("\x1b[" + c.in + "m\x1bP$qm\x1b\\"))
		if want := "\x1bP1$r" + c.want + "m\x1b\\"; answer != want {
			t.Errorf("SGR %s: answer %q, want %q", c.in, answer, want)
		}
	}
}

func TestANSI(t *testing.T) {
	for _, c := range []screenCase{
		{"plain", "a b  ", "a b\n"},
		{"colour", "\x1b[31mred\x1b[m plain", "\x1b[0;31mred\x1b[0m plain\n"},
		{"line ends in the default style", "\x1b[31mred\r\nmore", "\x1b[0;31mred\x1b[0m\n\x1b[0;31mmore\x1b[0m\n"},
		{"background to the edge", "\x1b[41ma\x1b[K", "\x1b[0;41ma         \x1b[0m\n"},
		{"blanks between are plain", "\x1b[31ma\x1b[5Gb", "\x1b[0;31ma\x1b[0m   \x1b[0;31mb\x1b[0m\n"},
		{"link", "\x1b]8;id=1;u:x\x1b\\l\x1b]8;;\x1b\\n", "\x1b[0m\x1b]8;id=1;u:x\x1b\\l\x1b[0m\x1b]8;;\x1b\\n\n"},
	} {
		if got := fed(10, 2, c.in).ANSI(TextOptions{}); got != c.want {
			t.Errorf("%s: %q gives %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// What ANSI returns shows the same text in the same styles.
func TestANSIRoundTrip(t *testing.T) {
	for _, in := range roundTrips {
		a := fed(10, 6, in)
		b := New(Options{Cols: 10, Rows: 7})
		b.Write([]byte("\x1b[20h\x1b[?7l" + a.ANSI(TextOptions{KeepBlanks: true})))
		if x, y := a.Text(TextOptions{}), b.Text(TextOptions{}); x != y {
			t.Errorf("%q shows %q, its ANSI text shows %q", in, x, y)
		}
	}
}
