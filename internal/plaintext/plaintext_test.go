package plaintext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "a b\tc\nd", "a b\tc\nd"},
		{"letters of all kinds", "naïve Ω 日本語 עברית हिन्दी \ue0b0", "naïve Ω 日本語 עברית हिन्दी \ue0b0"},
		{"C0", "a\x1b[31mb\r\x00\x07", `a\x1b[31mb\x0d\x00\x07`},
		{"DEL", "a\x7f", `a\x7f`},
		{"C1 in UTF-8", "\u009b31m\u0085", `\u009b31m\u0085`},
		{"C1 raw", "\x9b31m\x9d52;c;?\x07", `\x9b31m\x9d52;c;?\x07`},
		{"no UTF-8", "a\xe9b\xff\xc0\xaf", `a\xe9b\xff\xc0\xaf`},
		{"ends within a character", "a\xe2\x82", `a\xe2\x82`},
		{"U+FFFD itself", "\ufffd", "\ufffd"},
		{"bidirectional", "a\u202eb\u202c\u2066c\u2069\u200e\u200f\u061c", `a\u202eb\u202c\u2066c\u2069\u200e\u200f\u061c`},
		{"separators", "a\u2028b\u2029", `a\u2028b\u2029`},
		{"invisible", "a\u200bb\u00ad\ufeff\u2060\U000e0041", `a\u200bb\u00ad\ufeff\u2060\U000e0041`},
		{"fillers", "a\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800", `a\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800`},
		{"selectors", "a\ufe00\ufe0e\ufe0f\u180b\u180f日\U000e0100\U000e01ef", `a\ufe00\ufe0e\ufe0f\u180b\u180f日\U000e0100\U000e01ef`},
		{"ignored, but not assigned", "\u2065\ufff0\ufff8\U000e0fff", `\u2065\ufff0\ufff8\U000e0fff`},
		{"before numbers", "\u0600\u06dd\u070f\u08e2\u0890\U000110bd", `\u0600\u06dd\u070f\u08e2\u0890\U000110bd`},
		{"emoji and text of one character", "❤️ ☎︎ ©️ ▶️ 🅰️ 1️⃣ #️⃣ ↔️", "❤️ ☎︎ ©️ ▶️ 🅰️ 1️⃣ #️⃣ ↔️"},
		{"bytes that selectors hide", "😀\ufe0f\ufe0f\ufe0e\U000e0130 1\ufe0f2\ufe0f", "😀\ufe0f" + `\ufe0f\ufe0e\U000e0130 1\ufe0f2\ufe0f`},
		{"a joiner after a selector elsewhere", "a\ufe0f\u200d🔥 ⠁\u200d⠁", `a\ufe0f\u200d🔥 ⠁\u200d⠁`},
		{"an emoji that is joined", "👩‍💻 ❤️‍🔥", "👩‍💻 ❤️‍🔥"},
		{"a joiner elsewhere", "a\u200db \u200d", `a\u200db \u200d`},
		{"a joiner after an emoji", "👩\u200da", `👩\u200da`},
	} {
		if got := Text(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		for at := range len(tc.in) + 1 {
			var b bytes.Buffer
			w := NewWriter(&b)
			for _, part := range []string{tc.in[:at], tc.in[at:]} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if err := w.Flush(); err != nil || b.String() != tc.want {
				t.Errorf("%s, cut at %d: %q, %v", tc.name, at, b.String(), err)
			}
		}
	}
	if got := Line("a\n\tb\x1b"); got != `a\n\tb\x1b` {
		t.Errorf("%q", got)
	}
}

func TestContentWriter(t *testing.T) {
	var b strings.Builder
	w := NewContentWriter(&b)
	w.Write([]byte("⠀⣀⡠⠊ \u0600١ ❤️ a\u202e\u3164\u200b\x1b"))
	if w.Flush(); b.String() != "⠀⣀⡠⠊ \u0600١ ❤️ a"+`\u202e\u3164\u200b\x1b` {
		t.Errorf("%q", b.String())
	}
}

func TestShowsContent(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "é": true, "e\u0301": true, "日": true, "⠀": true, "\u0600١": true, "❤️": true, "1️⃣": true, "👩‍💻": true, "\ufffd": true,
		"\u202e": false, "a\u200d": false, "a\U000e0041": false, "\u200b": false, "1\ufe0f": false, "😀\ufe0f\ufe0f": false, "\u3164": false, "\xff": false,
	} {
		if got := ShowsContent(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// hidden reports whether r is invisible and no part of an emoji either.
func hidden(r rune) bool { return r != joiner && r != asText && r != asEmoji && !shows(r) }

func FuzzText(f *testing.F) {
	f.Add("a\x1b\u202e\x9b👩‍💻\xe2", 2)
	f.Fuzz(func(t *testing.T, s string, at int) {
		got := Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Fatalf("%q", got)
		}
		if Text(got) != got {
			t.Errorf("%q once more: %q", got, Text(got))
		}
		if at < 0 || at > len(s) {
			return
		}
		var b strings.Builder
		w := NewWriter(&b)
		w.Write([]byte(s[:at]))
		w.Write([]byte(s[at:]))
		if w.Flush(); b.String() != got {
			t.Errorf("cut at %d: %q, want %q", at, b.String(), got)
		}
	})
}

// FuzzJSON: what is written means the same, and steers no terminal.
func FuzzJSON(f *testing.F) {
	f.Add("a\x1b\u202e\u009b\U000e0041👩‍💻\x7f\n")
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		w := NewJSONWriter(&b)
		if err := json.NewEncoder(w).Encode(map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if strings.ContainsFunc(b.String(), hidden) {
			t.Errorf("%q", b.String())
		}
		var back map[string]string
		want := string([]rune(s)) // each byte that is no text is U+FFFD
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Errorf("%q: %v", b.String(), err)
		}
		for key, value := range back {
			if key != want || value != want {
				t.Errorf("%q, %q, want %q", key, value, want)
			}
		}
	})
}

// TestLineOfPlainText: a table asks for each cell, and most are plain.
func TestLineOfPlainText(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Line("feature-x waits") }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
