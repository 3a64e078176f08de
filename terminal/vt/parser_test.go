package vt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParser(t *testing.T) {
	runScreenCases(t, 20, 3, []screenCase{
		{"plain", "abc", "abc"},
		{"control within a CSI", "abc\x1b[1\bDx", "axc"},
		{"CAN ends a sequence", "a\x1b[3\x18mb", "amb"},
		{"SUB ends a string", "a\x1b]0;title\x1ab", "ab"},
		{"ESC begins anew", "a\x1b[3\x1b[1mb", "ab"},
		{"an unknown final byte", "a\x1b[5yb", "ab"},
		{"too many intermediates", "a\x1b[ !\"#pb\x1b ! ! !pc", "abc"},
		{"a prefix in the middle", "a\x1b[1?2hb", "ab"},
		{"a number after an intermediate", "a\x1b[1 2qb", "ab"},
		{"more parameters than are kept", "\x1b[" + strings.Repeat("0;", 100) + "7mx", "x"},
		{"a CSI without end", "\x1b[" + strings.Repeat("1;", 5000) + "mx", "x"},
		{"DEL is ignored", "a\x7fb", "ab"},
		{"C1 as UTF-8", "a\u009b2Cb\u0085c", "a  b\nc"},
		{"C1 as a byte is no control", "a\x9b1mb", "a�1mb"},
		{"ST as UTF-8 ends a string", "a\u009d0;t\u009cb", "ab"},
		{"APC, PM and SOS are skipped", "a\x1b_漢\x1b\\b\x1b^x\x1b\\c\x1bXx\x1b\\d", "abcd"},
		{"a DCS that is not known", "a\x1bP1;2|payload\nmore\x1b\\b", "ab"},
		{"BEL ends an OSC alone", "a\x1b]0;t\ab\x1bPq\ac\x1b\\d", "abd"},
		{"an OSC without a number", "a\x1b]hello\ab", "ab"},
		{"an endless OSC", "a\x1b]0;" + strings.Repeat("t", 2*maxString) + "\ab", "ab"},
	})
}

func TestInvalidUTF8(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\xffb", "a\ufffdb"},
		{"a\xc0\x80b", "a\ufffd\ufffdb"},
		{"a\xe4\xb8b", "a\ufffdb"},
		{"a\xf0\x9f\x98b", "a\ufffdb"},
		{"a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
		{"a\xf4\x90\x80\x80b", "a\ufffd\ufffd\ufffd\ufffdb"},
		{"a\xe4\n", "a\ufffd"},
		{"\ufeffa", "a"},
	} {
		whole := fed(20, 3, c.in)
		if got := shown(whole); got != c.want {
			t.Errorf("%q shows %q, want %q", c.in, got, c.want)
		}
		split := New(Options{Cols: 20, Rows: 3})
		for i := range len(c.in) {
			split.Write([]byte{c.in[i]})
		}
		if whole.dump() != split.dump() {
			t.Errorf("%q byte by byte is not as in one piece", c.in)
		}
	}
}

func TestDecodeAgreesWithUTF8(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		b := utf8.AppendRune(nil, r)
		if got, n := decode(b); got != r || n != len(b) {
			t.Fatalf("decode(%x) = %x, %d", b, got, n)
		}
		if len(b) == 1 {
			continue
		}
		if _, n := decode(b[:len(b)-1]); n != 0 {
			t.Fatalf("decode of the beginning of %x takes %d", b, n)
		}
	}
}

func TestPrintable(t *testing.T) {
	base := []byte("abcdefghijklmnopqrstuvwxyz")
	for i := range base {
		for b := range 256 {
			p := []byte(string(base))
			p[i] = byte(b)
			want := len(p)
			if b < 0x20 || b > 0x7e {
				want = i
			}
			if got := printable(p); got != want {
				t.Fatalf("printable(%q) = %d, want %d", p, got, want)
			}
		}
	}
}

func TestEverySequenceHasAForm(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sequences {
		if s.form == "" || s.name == "" || s.run == nil || seen[s.form] {
			t.Errorf("%q (%s) is listed twice or in part", s.form, s.name)
		}
		seen[s.form] = true
	}
}
