package viewer

import (
	"slices"
	"strings"
	"testing"

	"middleman/terminal/escape"
)

func filterWhole(p []byte) string {
	f := newReplayFilter()
	out := string(f.filter(p))
	return out + string(f.rest())
}

func TestReplayFilter(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"text", "hello\r\n", "hello\r\n"},
		{"colour", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"DA1", "a\x1b[cb", "ab"},
		{"DA1 with zero", "a\x1b[0cb", "ab"},
		{"DA2", "a\x1b[>cb", "ab"},
		{"DA3", "a\x1b[=cb", "ab"},
		{"status", "a\x1b[5nb", "ab"},
		{"cursor position", "a\x1b[6nb\x1b[?6nc", "abc"},
		{"modifyOtherKeys off is no query", "\x1b[>4n", "\x1b[>4n"},
		{"mode", "a\x1b[?2026$pb\x1b[4$pc", "abc"},
		{"soft reset stays", "\x1b[!p", "\x1b[!p"},
		{"XTVERSION", "a\x1b[>0qb", "ab"},
		{"cursor shape stays", "\x1b[2 q", "\x1b[2 q"},
		{"kitty flags", "a\x1b[?ub", "ab"},
		{"kitty push stays", "\x1b[>1u", "\x1b[>1u"},
		{"restore cursor stays", "\x1b[u", "\x1b[u"},
		{"window size", "a\x1b[18tb\x1b[14;2tc", "abc"},
		{"title stack stays", "\x1b[22;0t", "\x1b[22;0t"},
		{"background colour", "a\x1b]11;?\ab\x1b]11;?\x1b\\c", "abc"},
		{"palette", "a\x1b]4;1;?;2;?\ab", "ab"},
		{"palette set stays", "\x1b]4;1;#ffffff\a", "\x1b]4;1;#ffffff\a"},
		{"clipboard", "a\x1b]52;c;?\ab", "ab"},
		{"title with a question stays", "\x1b]0;what;?\a", "\x1b]0;what;?\a"},
		{"hyperlink stays", "\x1b]8;;http://x/?\a", "\x1b]8;;http://x/?\a"},
		{"DECRQSS", "a\x1bP$qm\x1b\\b", "ab"},
		{"XTGETTCAP", "a\x1bP+q544e\x1b\\b", "ab"},
		{"sixel stays", "\x1bPq#0\x1b\\", "\x1bPq#0\x1b\\"},
		{"kitty graphics query", "a\x1b_Gi=1,a=q;AAAA\x1b\\b", "ab"},
		{"DECID", "a\x1bZb", "ab"},
		{"ENQ", "a\x05b", "ab"},
		{"control within", "\x1b[6\nn", "\n"},
		{"controls within a query", "a\x1b\x7f[\x7f6\x0en\x1b]1\x001;\x7f?\ab\x1bP\x00$\x7fqm\x1b\\c\x1b\x0fZd", "a\x7f\x7f\x0ebc\x0fd"},
		{"DECRQSS with parameters", "a\x1bP0;1$qm\x1b\\b", "ab"},
		{"a number that overflows", "a\x1b]4294967307;?\ab", "ab"},
		{"cut short", "\x1b[6\x1b[31m", "\x1b[6\x1b[31m"},
		{"cancelled", "\x1b[6\x18n", "\x1b[6\x18n"},
		{"string ended by a sequence", "\x1b]11;?\x1b[31m", "\x1b[31m"},
		{"two escapes", "\x1b\x1b[6n[6n", "\x1b\x1b\\[6n"},
		{"title ended by a query", "\x1b]0;title\x1b[6ntext", "\x1b]0;title\x1b\\text"},
		{"not ended", "a\x1b[6", "a\x1b[6"},
		{"long string stays", "\x1b]52;c;" + strings.Repeat("A", 3*escape.MaxSequence) + ";?\a",
			"\x1b]52;c;" + strings.Repeat("A", 3*escape.MaxSequence) + ";?\a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := filterWhole([]byte(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			f := newReplayFilter()
			var split []byte
			for i := range len(tt.in) {
				split = append(split, f.filter([]byte{tt.in[i]})...)
			}
			if split = append(split, f.rest()...); string(split) != tt.want {
				t.Errorf("byte for byte: got %q, want %q", split, tt.want)
			}
		})
	}
}

// A split at any place changes nothing, and what was filtered is filtered.
func FuzzReplayFilter(f *testing.F) {
	f.Add([]byte("a\x1b[6nb\x1b]11;?\x1b\\c"), 3)
	f.Add([]byte("\x1bP$qm\x1b\\"), 4)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		whole := filterWhole(p)
		if at < 0 || at > len(p) {
			at = len(p) / 2
		}
		filter := newReplayFilter()
		split := string(filter.filter(p[:at]))
		split += string(filter.filter(p[at:]))
		split += string(filter.rest())
		if split != whole {
			t.Errorf("split at %d: got %q, want %q", at, split, whole)
		}
		// Controls may change places with the sequence they stand in.
		if again := filterWhole([]byte(whole)); sorted(again) != sorted(whole) {
			t.Errorf("%q became %q, and then %q", p, whole, again)
		}
	})
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

func TestScreenTracker(t *testing.T) {
	tests := []struct {
		name, in string
		want     bool
	}{
		{"nothing", "hello", false},
		{"entered", "\x1b[?1049h", true},
		{"entered and left", "\x1b[?1049h vim \x1b[?1049l", false},
		{"with others", "\x1b[?1;1047;25h", true},
		{"with zeros and controls", "\x1b\x00[?\x7f0104\n9h", true},
		{"other mode", "\x1b[?25h", false},
		{"reset", "\x1b[?47h\x1bc", false},
	}
	for _, tt := range tests {
		s := newScreenTracker()
		for i := range len(tt.in) {
			s.observe([]byte{tt.in[i]})
		}
		if s.alternate != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, s.alternate, tt.want)
		}
	}
}

// What a program in a pane prints reaches a terminal that is not tmux: without
// what tmux answers, and with titles that the terminal knows.
func TestHostFilter(t *testing.T) {
	in := "a\x1b[c\x1b[6nb\x1bkvim\x1b\\c\x1b]11;?\x07d"
	want := "ab\x1b]2;vim\x1b\\cd"
	for size := 1; size <= len(in); size++ {
		f := newHostFilter()
		var got []byte
		for rest := in; rest != ""; rest = rest[min(size, len(rest)):] {
			got = append(got, f.filter([]byte(rest[:min(size, len(rest))]))...)
		}
		if string(got) != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
}
