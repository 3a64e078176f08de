package await

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	text := func(s string) Match { return made(t)(Text(s)) }
	regex := func(s string) Match { return made(t)(Regex(s)) }
	for _, tt := range []struct {
		name  string
		match Match
		in    string
		want  string // "" for none
	}{
		{"text", text("a.b"), "x a.b y", "a.b"},
		{"text is no expression", text("a.b"), "x acb y", ""},
		{"expression", regex("re.dy-[0-9]+"), "x ready-17 y", "ready-17"},
		{"a line's beginning", regex("^two"), "one\ntwo\n", "two"},
		{"a line's end", regex("one$"), "one\ntwo\n", "one"},
		{"two lines", regex("one\ntwo"), "one\ntwo\n", "one\ntwo"},
		{"a dot is no newline", regex("one.two"), "one\ntwo\n", ""},
		{"flags may be given again", regex("(?m)^two$"), "one\ntwo\n", "two"},
	} {
		found := ""
		if at := tt.match([]byte(tt.in)); at != nil {
			found = tt.in[at[0]:at[1]]
		}
		if found != tt.want {
			t.Errorf("%s: found %q, want %q", tt.name, found, tt.want)
		}
	}
	for _, err := range []error{second(Text("")), second(Text(strings.Repeat("x", maxText+1))), second(Regex("")), second(Regex("("))} {
		if err == nil {
			t.Error("nothing to wait for is no error")
		}
	}
}

func made(t *testing.T) func(Match, error) Match {
	return func(m Match, err error) Match {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func second(_ Match, err error) error { return err }

// A text matches however its output is split, and control sequences within it
// do not count.
func TestPrintedInPieces(t *testing.T) {
	const in = "before\r\n\x1b[31mnee\x1b[1mdle\x1b[0m after"
	for size := 1; size <= len(in); size++ {
		p := newPrinted(made(t)(Regex("^needle")))
		found := false
		for rest := in; rest != "" && !found; rest = rest[min(size, len(rest)):] {
			var text string
			text, found = p.take([]byte(rest[:min(size, len(rest))]))
			if found && text != "needle" {
				t.Errorf("in pieces of %d: %q", size, text)
			}
		}
		if !found {
			t.Errorf("in pieces of %d: not found", size)
		}
	}
}

// What is kept is bounded, and a cut makes no beginning of a line.
func TestPrintedIsBounded(t *testing.T) {
	p := newPrinted(made(t)(Regex("^x|never")))
	line := []byte(strings.Repeat("abcx", 100) + "\r\n")
	for range 1000 {
		if text, found := p.take(line); found {
			t.Fatalf("%q matches within a line", text)
		}
		if n := p.text.Len(); n > recentBytes {
			t.Fatalf("%d bytes are kept", n)
		}
	}
	p.take([]byte(strings.Repeat("y", 3*recentBytes)))
	if n := p.text.Len(); n > recentBytes {
		t.Errorf("%d bytes of one line are kept", n)
	}
	if _, found := p.take([]byte("nev")); found {
		t.Error("found too early")
	}
	if _, found := p.take([]byte("er")); !found {
		t.Error("not found after a cut")
	}
}

func TestParseFrom(t *testing.T) {
	for in, want := range map[string]uint64{"0": 0, "17": 17, "now": Now, "18446744073709551614": Now - 1} {
		if got, err := ParseFrom(in); err != nil || *got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-1", "then", "1.5", "0x10", "18446744073709551615", "18446744073709551616"} {
		if got, err := ParseFrom(in); err == nil {
			t.Errorf("%q is %d", in, *got)
		}
	}
}
