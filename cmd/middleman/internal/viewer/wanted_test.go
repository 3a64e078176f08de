package viewer

import (
	"encoding/base64"
	"strings"
	"testing"

	"middleman/terminal"
)

func TestWanted(t *testing.T) {
	set := func(text string) string { return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a" }
	most := strings.Repeat("x", maxWanted)
	for _, tc := range []struct {
		name, in string
		want     *Wanted
	}{
		{"nothing", "a\x1b]0;title\a", nil},
		{"BEL", "a" + set("hi") + "b", &Wanted{Text: "hi"}},
		{"ST", "a\x1b]52;c;aGk=\x1b\\b", &Wanted{Text: "hi"}},
		{"C1", "a\u009d52;c;aGk=\u009cb", &Wanted{Text: "hi"}},
		{"raw C1", "a\x9d52;c;aGk=\x9cb", &Wanted{Text: "hi"}},
		{"controls within", "\x1b]5\x002;c;aG\nk=\a", &Wanted{Text: "hi"}},
		{"no padding", "\x1b]52;;aGk\a", &Wanted{Text: "hi"}},
		{"through tmux", "\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\", &Wanted{Text: "hi"}},
		{"the last counts", set("one") + set("two"), &Wanted{Text: "two"}},
		{"a read", set("one") + "\x1b]52;c;?\a", &Wanted{Text: "one"}},
		{"to be cleared", "\x1b]52;c;\a\x1b]52;c\a\x1b]52\a", nil},
		{"no base64", "\x1b]52;c;a*k=\a\x1b]52;c;aG\u00e9k=\a", nil},
		{"cancelled", "\x1b]52;c;aGk=\x18\x1b]52;c;aGk=\x1a\a", nil},
		{"cut short by another", "\x1b]52;c;aGk=\x1b[31m\a", nil},
		{"another's clipboard", "\x1b]1337;Copy=:aGk=\a\x1b]5522;c;aGk=\a", nil},
		{"as long as can be", set(most), &Wanted{Text: most}},
		{"too long", set("one") + set(most+"x"), &Wanted{TooLong: true}},
		{"far too long", set(most + most), &Wanted{TooLong: true}},
		{"too long, then not", set(most+"x") + set("two"), &Wanted{Text: "two"}},
	} {
		for at := range min(len(tc.in), 100) + 1 {
			f := newClipboardFilter(terminal.ClipboardAsk)
			f.filter([]byte(tc.in[:at]))
			f.filter([]byte(tc.in[at:]))
			if (f.wanted == nil) != (tc.want == nil) || f.wanted != nil && *f.wanted != *tc.want {
				t.Errorf("%s, cut at %d: %.100v, want %.100v", tc.name, at, f.wanted, tc.want)
			}
			if cap(f.taken) > 2*maxTaken {
				t.Errorf("%s: %d bytes are kept", tc.name, cap(f.taken))
			}
		}
	}
	for _, policy := range []terminal.Clipboard{terminal.ClipboardAllow, terminal.ClipboardDeny} {
		f := newClipboardFilter(policy)
		if f.filter([]byte(set("hi"))); f.wanted != nil {
			t.Errorf("%s: asks for %+v", policy, f.wanted)
		}
	}
	again := newClipboardFilter(terminal.ClipboardAsk)
	if again.filter([]byte(Wanted{Text: "hi\x1b]\a"}.Command())); again.wanted == nil || again.wanted.Text != "hi\x1b]\a" {
		t.Errorf("its command wants %+v", again.wanted)
	}
}
