package escape

import (
	"bytes"
	"testing"
)

func TestPlainText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"text", "one\r\ntwo\tthree\r\n", "one\ntwo\tthree\n"},
		{"colour", "\x1b[1;31mred\x1b[0m\n", "red\n"},
		{"title", "\x1b]0;title\aprompt$ ", "prompt$ "},
		{"bell and backspace", "a\a\bb\x7f", "ab"},
		{"movement", "a\x1b[5Cb\x1b[Cc\x1b[0Cd\x1b[1;2Ce\x1b[?3Cf\x1b[3Dg\x1b[999Ch", "a     b c defgh"},
		{"wide", "日本\n", "日本\n"},
		{"controls within", "a\x1b\x7f[3\x00\x7f1\nmb\x1b\x0e]0;x\x7f\ac\x1b\x7f(\x7fBd", "a\nbcd"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		w := PlainText(&out)
		for i := range len(tt.in) {
			if n, err := w.Write([]byte{tt.in[i]}); n != 1 || err != nil {
				t.Fatalf("%s: write: %d, %v", tt.name, n, err)
			}
		}
		if out.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}

// Text and sequences together are the output, however it is split, and a
// sequence without an end takes bounded memory.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\x1b[6nb\x1b]11;?\x1b\\c"), 3)
	f.Add([]byte("\x1bP$qm\x1b\\\x1b[1\x1b[2m"), 4)
	f.Add(append([]byte("\x1b]"), bytes.Repeat([]byte("x"), 2*MaxSequence)...), 9)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		at = min(max(at, 0), len(p))
		var whole, split parts
		whole.take(p)
		split.take(p[:at], p[at:])
		if whole.text.String() != split.text.String() || whole.sequences.String() != split.sequences.String() {
			t.Errorf("split at %d: %q and %q, want %q and %q", at, &split.text, &split.sequences, &whole.text, &whole.sequences)
		}
		if n := whole.text.Len() + whole.sequences.Len(); n != len(p) {
			t.Errorf("%d bytes of %d came out", n, len(p))
		}
		if whole.longest > MaxSequence || split.longest > MaxSequence {
			t.Errorf("%d bytes were held, at most %d may be", max(whole.longest, split.longest), MaxSequence)
		}
	})
}

// parts is what a Splitter made of output.
type parts struct {
	text, sequences bytes.Buffer
	longest         int
}

func (p *parts) take(output ...[]byte) {
	s := Splitter{
		Text: func(b []byte) { p.text.Write(b) },
		Sequence: func(b []byte, _ bool) {
			p.sequences.Write(b)
			p.longest = max(p.longest, len(b))
		},
	}
	for _, b := range output {
		s.Write(b)
	}
	s.Flush()
}
