package viewer

import (
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/terminal/vt"
)

func TestClipboardFilter(t *testing.T) {
	long := strings.Repeat("QUFB", 50_000)
	for _, tc := range []struct{ name, in, deny, allow string }{
		{"text", "a é 日 \u00dd\n", "a é 日 \u00dd\n", "a é 日 \u00dd\n"},
		{"another command", "\x1b]0;title\aa\x1b]8;;x\x1b\\", "\x1b]0;title\aa\x1b]8;;x\x1b\\", "\x1b]0;title\aa\x1b]8;;x\x1b\\"},
		{"a number that begins alike", "\x1b]520;x\a\x1b]5;x\a", "\x1b]520;x\a\x1b]5;x\a", "\x1b]520;x\a\x1b]5;x\a"},
		{"no number", "\x1b]L52;c;x\a", "\x1b]L52;c;x\a", "\x1b]L52;c;x\a"},
		{"set, BEL", "a\x1b]52;c;aGk=\ab", "a\x1b\\b", "a\x1b]52;c;aGk=\ab"},
		{"set, ST", "a\x1b]52;c;aGk=\x1b\\b", "a\x1b\\b", "a\x1b]52;c;aGk=\x1b\\b"},
		{"set, C1 ST", "a\x1b]52;c;aGk=\u009cb", "a\x1b\\b", "a\x1b]52;c;aGk=\u009cb"},
		{"set, raw C1 ST", "a\x1b]52;c;aGk=\x9cb", "a\x1b\\b", "a\x1b]52;c;aGk=\x9cb"},
		{"set, no selection", "a\x1b]52;;aGk=\ab", "a\x1b\\b", "a\x1b]52;;aGk=\ab"},
		{"set, C1", "a\u009d52;c;aGk=\ab", "a\x1b\\b", "a\u009d52;c;aGk=\ab"},
		{"set, raw C1", "a\x9d52;c;aGk=\ab", "a\x1b\\b", "a\x9d52;c;aGk=\ab"},
		{"set, zeros before", "a\x1b]0052;c;aGk=\ab", "a\x1b\\b", "a\x1b]0052;c;aGk=\ab"},
		{"set, controls within", "a\x1b]\x015\x002\n;c;aGk=\ab", "a\x1b\\b", "a\x1b]\x015\x002\n;c;aGk=\ab"},
		{"set, long", "a\x1b]52;c;" + long + "\ab", "a\x1b\\b", "a\x1b]52;c;" + long + "\ab"},
		{"set, cut short by another", "a\x1b]52;c;aGk=\x1b[31mb", "a\x1b\\\x1b[31mb", "a\x1b]52;c;aGk=\x1b[31mb"},
		{"set, cancelled", "a\x1b]52;c;aGk=\x18b", "a\x1b\\b", "a\x1b]52;c;aGk=\x18b"},
		{"two", "\x1b]52;c;aGk=\x1b]52;c;aGk=\ab", "\x1b\\\x1b\\b", "\x1b]52;c;aGk=\x1b]52;c;aGk=\ab"},
		{"through tmux", "a\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\b", "a\x1bPtmux;\x1b\x1b\\\x1b\\b", "a\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\b"},
		{"through screen", "a\x1bP\x1b]52;c;aGk=\a\x1b\\b", "a\x1bP\x1b\\\x1b\\b", "a\x1bP\x1b]52;c;aGk=\a\x1b\\b"},
		{"within a title", "\x1b]0;x\x1b]52;c;aGk=\ab", "\x1b]0;x\x1b\\b", "\x1b]0;x\x1b]52;c;aGk=\ab"},
		{"ask", "a\x1b]52;c;?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"ask, controls within", "a\x1b]52;c;\x01?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"ask, through tmux", "a\x1bPtmux;\x1b\x1b]52;c;?\a\x1b\\b", "a\x1bPtmux;\x1b\x1b\\\x1b\\b", "a\x1bPtmux;\x1b\x1b\\\x1b\\b"},
		{"a selection without an end", "a\x1b]52;" + strings.Repeat("c", 100) + ";?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"a number without an end", "a\x1b]" + strings.Repeat("0", 100) + "52;c;?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"in pieces", "\x1b]5\x1b]52;c;x\a2;c;?\a\x1b\x1b]52;c;?\a]52;c;?\a", "\x1b]5\x1b\\2;c;?\a\x1b\x1b\\]52;c;?\a",
			"\x1b]5\x1b]52;c;x\a2;c;?\a\x1b\x1b\\]52;c;?\a"},
		{"kitty", "a\x1b]5522;type=read;x\x1b\\b", "a\x1b\\b", "a\x1b\\b"},
		{"iTerm2", "a\x1b]1337;CopyToClipboard=x\ab\x1b]1337;Copy=:x\ac", "a\x1b\\b\x1b\\c", "a\x1b]1337;CopyToClipboard=x\ab\x1b]1337;Copy=:x\ac"},
		{"iTerm2, another", "\x1b]1337;CurrentDir=/\a\x1b]1337;C\a", "\x1b]1337;CurrentDir=/\a\x1b]1337;C\a", "\x1b]1337;CurrentDir=/\a\x1b]1337;C\a"},
	} {
		for policy, want := range map[terminal.Clipboard]string{
			terminal.ClipboardDeny: tc.deny, terminal.ClipboardAsk: tc.deny, terminal.ClipboardAllow: tc.allow,
		} {
			for at := range min(len(tc.in), 200) + 1 {
				f := newClipboardFilter(policy)
				got := string(f.filter([]byte(tc.in[:at])))
				if len(f.held) > maxHead {
					t.Errorf("%s: %d bytes held", tc.name, len(f.held))
				}
				if got += string(f.filter([]byte(tc.in[at:]))); got != want {
					t.Errorf("%s, %s, cut at %d: %.200q, want %.200q", tc.name, policy, at, got, want)
				}
			}
		}
	}
}

// FuzzClipboardFilter: what is drawn holds no command that was refused, what
// is allowed passes byte for byte, and it does not matter how output is cut.
func FuzzClipboardFilter(f *testing.F) {
	f.Add([]byte("\x1b\x1b]52;c;?\a]52;c;?\a"), 1)
	f.Add([]byte("a\x1bPtmux;\x1b\x1b]52;c;?\a\x1b\\\u009d52;c;x\u009c\x9d\xc2\x1b]"), 3)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		if at < 0 || at > len(in) {
			return
		}
		for _, policy := range []terminal.Clipboard{terminal.ClipboardDeny, terminal.ClipboardAsk, terminal.ClipboardAllow} {
			whole := newClipboardFilter(policy)
			want := string(whole.filter(in))
			cut := newClipboardFilter(policy)
			got := string(cut.filter(in[:at]))
			if got += string(cut.filter(in[at:])); got != want {
				t.Fatalf("%s, cut: %q, want %q", policy, got, want)
			}
			screen := vt.New(vt.Options{Event: func(e vt.Event) {
				if e.Kind == vt.EventClipboard && (policy != terminal.ClipboardAllow || strings.HasPrefix(e.Text, "?")) {
					t.Errorf("%s: %q reaches a terminal as %+v", policy, want, e)
				}
			}})
			if _, err := screen.Write([]byte(want)); err != nil {
				t.Fatal(err)
			}
			again := newClipboardFilter(policy)
			if got := string(again.filter([]byte(want))); got+string(again.held) != want {
				t.Errorf("%s: of %q once more %q is left", policy, want, got)
			}
			for _, command := range []string{"\x1b]52;c;?", "\u009d52;c;?"} {
				if strings.Contains(want, command) {
					t.Errorf("%s: %q asks for the clipboard", policy, want)
				}
			}
		}
	})
}
