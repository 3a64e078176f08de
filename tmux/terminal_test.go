//go:build unix

package tmux

import (
	"bytes"
	"strings"
	"testing"
)

const testMark = "\x1b]7767;ABCDEFGHIJKLMNOPQRSTUVWXYZ\a"

// scanAll feeds p in pieces of n bytes.
func scanAll(p []byte, n int) (out []byte, found bool) {
	m := &markScanner{mark: []byte(testMark)}
	for len(p) > 0 {
		k := min(n, len(p))
		out = append(out, m.scan(p[:k])...)
		p = p[k:]
	}
	return append(out, m.rest()...), m.found
}

func TestMarkScanner(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		found          bool
	}{
		{"nothing", "", "", false},
		{"no output", testMark, "", true},
		{"output", "abc" + testMark, "abc", true},
		{"what follows is dropped", "abc" + testMark + "def", "abc", true},
		{"the second is dropped", "abc" + testMark + testMark, "abc", true},
		{"no mark", "abc", "abc", false},
		{"the beginning of a mark", "abc" + testMark[:20], "abc" + testMark[:20], false},
		{"a mark without its end", "abc" + testMark[:len(testMark)-1], "abc" + testMark[:len(testMark)-1], false},
		{"another mark", "\x1b]7767;f\a", "\x1b]7767;f\a", false},
		{"beginning twice", testMark[:10] + testMark, testMark[:10], true},
		{"many beginnings", strings.Repeat("\x1b]", 100) + testMark, strings.Repeat("\x1b]", 100), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.in)+1; n++ {
				if out, found := scanAll([]byte(tt.in), n); string(out) != tt.want || found != tt.found {
					t.Fatalf("in pieces of %d: %q, %v, want %q, %v", n, out, found, tt.want, tt.found)
				}
			}
		})
	}
}

// What cannot be a mark's beginning is not held back.
func TestMarkScannerHoldsLittleBack(t *testing.T) {
	m := &markScanner{mark: []byte(testMark)}
	for _, tt := range []struct{ in, out string }{
		{"abc", "abc"}, {"abc\x1b", "abc"}, {"[1m", "\x1b[1m"}, {testMark[:9], ""}, {"x", testMark[:9] + "x"},
	} {
		if got := m.scan([]byte(tt.in)); string(got) != tt.out {
			t.Errorf("%q gave %q, want %q", tt.in, got, tt.out)
		}
	}
}

// FuzzMarkScanner: whatever the pieces, the output is what is before the mark,
// and without one it is the input.
func FuzzMarkScanner(f *testing.F) {
	f.Add([]byte("abc"), 1)
	f.Add([]byte("abc"+testMark), 3)
	f.Add([]byte(testMark[:20]+testMark+"def"), 7)
	f.Fuzz(func(t *testing.T, p []byte, n int) {
		want, _, has := bytes.Cut(p, []byte(testMark))
		out, found := scanAll(bytes.Clone(p), max(1, n%300))
		if !bytes.Equal(out, want) || found != has {
			t.Errorf("%q, %v of %q, want %q, %v", out, found, p, want, has)
		}
	})
}
