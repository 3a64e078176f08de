package await

import (
	"fmt"
	"slices"
	"testing"
)

func TestLines(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"lines", "one\r\ntwo\n\n  three", []string{"0:one", "5:two", "10:three"}},
		{"colours", "\x1b[31mred\x1b[m and \x1b]8;;http://x\x07link\x1b]8;;\x07\n", []string{"0:red and link"}},
		{"a progress bar", "10%\r20%\r100%\n", []string{"0:10%", "4:20%", "8:100%"}},
		{"cursor to another line", "a\x1b[5;1Hb\x1b[2Jc", []string{"0:a", "7:b", "12:c"}},
		{"cursor along the line", "a\x1b[5Cb\x1b[20Gc", []string{"0:a b c"}},
		{"backspace", "ab\bc\n\b\n", []string{"0:ac"}},
		{"alternate screen", "shell\x1b[?1049hvim\x1b[?25h!", []string{"0:shell", "13:vim!"}},
		{"wide characters", "日本 ü\n", []string{"0:日本 ü"}},
		{"what does not end", "a\x1b]0;title", []string{"0:a"}},
		{"only controls", "\x1b[m\r\n\x00\x7f\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in); size++ {
				var got []string
				l := newLines(0, func(offset uint64, line []byte) { got = append(got, fmt.Sprintf("%d:%s", offset, line)) })
				for p := range slices.Chunk([]byte(tt.in), size) {
					if n, err := l.Write(p); n != len(p) || err != nil {
						t.Fatal(n, err)
					}
				}
				l.Flush()
				if !slices.Equal(got, tt.want) {
					t.Fatalf("in pieces of %d: %q, want %q", size, got, tt.want)
				}
			}
		})
	}
}

func TestLinesGoOnAfterAGap(t *testing.T) {
	var got []string
	l := newLines(100, func(offset uint64, line []byte) { got = append(got, fmt.Sprintf("%d:%s", offset, line)) })
	l.Write([]byte("before"))
	l.skip(500)
	l.Write([]byte("after\n"))
	if want := []string{"100:before", "500:after"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALineIsBounded(t *testing.T) {
	n := 0
	l := newLines(0, func(_ uint64, line []byte) { n += len(line) })
	for range 10 {
		l.Write(make([]byte, 0))
		l.Write([]byte(fmt.Sprintf("%0*d", maxLine, 7)))
	}
	l.Flush()
	if n != 10*maxLine {
		t.Errorf("%d bytes of text, want %d", n, 10*maxLine)
	}
}
