package sessions

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		lines    uint64
		in, want string
	}{
		{0, "a\nb\n", ""},
		{1, "a\nb\n", "b\n"},
		{1, "a\nb", "b"},
		{2, "a\nb", "a\nb"},
		{2, "a\n\n\n", "\n\n"},
		{3, "a\nb\n", "a\nb\n"},
		{3, "", ""},
		{1 << 63, "a\nb\n", "a\nb\n"},
	} {
		var out strings.Builder
		w := &tail{to: &out, lines: tt.lines}
		for _, b := range []byte(tt.in) {
			w.Write([]byte{b})
		}
		if err := w.release(); err != nil || out.String() != tt.want {
			t.Errorf("%d of %q: %q, %v, want %q", tt.lines, tt.in, out.String(), err, tt.want)
		}
		w.Write([]byte("more"))
		if got := out.String(); got != tt.want+"more" {
			t.Errorf("after release: %q", got)
		}
	}
}

// Much output takes no more memory than what is kept of it.
func TestTailIsBounded(t *testing.T) {
	var out strings.Builder
	w := &tail{to: &out, lines: 2}
	for i := range 1 << 20 {
		fmt.Fprintf(w, "line %d\n", i)
		if cap(w.buf) > 4*tailSpare {
			t.Fatalf("%d bytes are held after line %d", cap(w.buf), i)
		}
	}
	if err := w.release(); err != nil || out.String() != "line 1048574\nline 1048575\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
