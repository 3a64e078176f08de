package tmux

import (
	"bytes"
	"testing"
	"time"

	"middleman/terminal"
)

const testNonce = "0123456789abcdef0123456789abcdef"

// scanAll feeds p in pieces of n bytes.
func scanAll(p []byte, n int) (out []byte, exit *terminal.Exit) {
	m := newMarkerScanner(testNonce)
	for len(p) > 0 {
		k := min(n, len(p))
		out = append(out, m.scan(p[:k])...)
		p = p[k:]
	}
	if m.exit == nil {
		out = append(out, m.rest()...)
	}
	return out, m.exit
}

func TestMarkerScanner(t *testing.T) {
	exit := terminal.Exit{Code: -1, Signal: 9, SignalName: "SIGKILL", Time: time.Unix(1, 5)}
	marker := string(endMarker(testNonce, exit))
	for _, tt := range []struct {
		name, in, want string
		ended          bool
	}{
		{"no output", marker, "", true},
		{"output", "abc" + marker, "abc", true},
		{"what follows is dropped", "abc" + marker + "def", "abc", true},
		{"no marker", "abc", "abc", false},
		{"the beginning of a marker", "abc" + marker[:20], "abc" + marker[:20], false},
		{"a marker without its end", "abc" + marker[:len(marker)-1], "abc" + marker[:len(marker)-1], false},
		{"another nonce", "\x1b]7767;f;0;0;;1\a", "\x1b]7767;f;0;0;;1\a", false},
		{"beginning twice", marker[:10] + marker, marker[:10], true},
		{"not a marker's fields", "\x1b]7767;" + testNonce + ";x\aabc" + marker, "\x1b]7767;" + testNonce + ";x\aabc", true},
		{"too long for a marker", marker[:40] + string(bytes.Repeat([]byte("x"), 500)) + marker,
			marker[:40] + string(bytes.Repeat([]byte("x"), 500)), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.in); n++ {
				out, got := scanAll([]byte(tt.in), n)
				if string(out) != tt.want || (got != nil) != tt.ended {
					t.Fatalf("in pieces of %d: %q, %+v, want %q", n, out, got, tt.want)
				}
				if tt.ended && (*got != exit) {
					t.Fatalf("in pieces of %d: exit %+v, want %+v", n, *got, exit)
				}
			}
		})
	}
}

// FuzzMarkerScanner: whatever the pieces, the output is the same, and without
// a marker it is the input.
func FuzzMarkerScanner(f *testing.F) {
	marker := endMarker(testNonce, terminal.Exit{Code: 7, Time: time.Unix(0, 1)})
	f.Add([]byte("abc"), 1)
	f.Add(append([]byte("abc"), marker...), 3)
	f.Add(append(marker[:30:30], marker...), 7)
	f.Fuzz(func(t *testing.T, p []byte, n int) {
		n = max(1, n%300)
		whole, exit := scanAll(p, len(p)+1)
		pieces, again := scanAll(p, n)
		if !bytes.Equal(whole, pieces) || (exit == nil) != (again == nil) {
			t.Errorf("whole %q %v, in pieces of %d %q %v", whole, exit, n, pieces, again)
		}
		if exit == nil && !bytes.Equal(whole, p) {
			t.Errorf("output %q of %q", whole, p)
		}
		if exit != nil { // what was taken out is what endMarker writes
			rest := endMarker(testNonce, *exit)
			if !bytes.HasPrefix(p, append(whole, rest[:len(markerPrefix)]...)) {
				t.Errorf("exit %+v in %q", *exit, p)
			}
		}
	})
}
