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
		{"no number", "\x1b]Lx;c;x\a", "\x1b]Lx;c;x\a", "\x1b]Lx;c;x\a"},
		{"a number that Windows Terminal reads", "a\x1b]L52;c;x\ab\x1b]5x2;c;x\ac", "a\x1b\\b\x1b\\c", "a\x1b\\b\x1b\\c"},
		{"a number that old tmux reads", "a\x1b]52x9;c;x\ab", "a\x1b\\b", "a\x1b\\b"},
		{"a number that overflows", "a\x1b]4294967348;c;aGk=\ab\x1b]65588;c;aGk=\ac", "a\x1b\\b\x1b\\c", "a\x1b\\b\x1b\\c"},
		{"the largest number", "\x1b]65535;x\a\x1b]30001\x1b\\", "\x1b]65535;x\a\x1b]30001\x1b\\", "\x1b]65535;x\a\x1b]30001\x1b\\"},
		{"a picture and a question", "\x1bPq#0~\x1b\\\x1bP+q544e\x1b\\", "\x1bPq#0~\x1b\\\x1bP+q544e\x1b\\", "\x1bPq#0~\x1b\\\x1bP+q544e\x1b\\"},
		{"a control after ESC", "a\x1b\n\x7f[31m\x1b(\rB", "a\n\x1b[31m\r\x1b(B", "a\n\x1b[31m\r\x1b(B"},
		{"ESC twice", "\x1b\x1b\a[31m\x1b(\x1b[m", "\x1b\\\a\x1b[31m\x1b\x1b[m", "\x1b\\\a\x1b[31m\x1b\x1b[m"},
		{"ESC cut short", "\x1b\x18]0;x\a\x1b\u00e9", "\x1b\\\x18]0;x\a\x1b\\\u00e9", "\x1b\\\x18]0;x\a\x1b\\\u00e9"},
		{"another encoding", "\x1b%@\x1b%\x00/F\x1b%G", "\x1b%G\x00\x1b%G\x1b%G", "\x1b%G\x00\x1b%G\x1b%G"},
		{"C1 ST after a number", "\x1b]112\u009ca\x1b]112\x9cb", "\x1b]112\x1b\\a\x1b]112\x1b\\b", "\x1b]112\x1b\\a\x1b]112\x1b\\b"},
		{"cancelled early", "\x1b]5\x182;c;?\a", "\x1b\\\x182;c;?\a", "\x1b\\\x182;c;?\a"},
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
		{"through tmux", "a\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\b", "a\x1bPtmux;\x1b\\\x1b\x1b\\\x1b\\b", "a\x1bPtmux;\x1b\\\x1b\x1b]52;c;aGk=\a\x1b\\b"},
		{"through screen", "a\x1bP\x1b]52;c;aGk=\a\x1b\\b", "a\x1bP\x1b\\\x1b\\\x1b\\b", "a\x1bP\x1b\\\x1b]52;c;aGk=\a\x1b\\b"},
		{"within a title", "\x1b]0;x\x1b]52;c;aGk=\ab", "\x1b]0;x\x1b\\b", "\x1b]0;x\x1b]52;c;aGk=\ab"},
		{"ask", "a\x1b]52;c;?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"ask, controls within", "a\x1b]52;c;\x01?\ab", "a\x1b\\b", "a\x1b\\b"},
		{"ask, through tmux", "a\x1bPtmux;\x1b\x1b]52;c;?\a\x1b\\b", "a\x1bPtmux;\x1b\\\x1b\x1b\\\x1b\\b", "a\x1bPtmux;\x1b\\\x1b\x1b\\\x1b\\b"},
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
	for _, bypass := range bypasses {
		f.Add([]byte("a"+bypass+"b"), 4)
	}
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
			if commands := clipboardCommands(want, policy == terminal.ClipboardAllow); len(commands) > 0 {
				t.Errorf("%s: of %q terminals could see %q in %q", policy, in, commands, want)
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

// bypasses read the clipboard in some terminal. No program gets one past a filter.
var bypasses = []string{
	"\x1b\x00]52;c;?\a", "\x1b\x7f]52;c;?\a", "\x1b\x0e]52;c;?\a", "\x1b\n]52;c;?\a", "\x1b\x18]52;c;?\a",
	"\x1b\u00e9]52;c;?\a", "\x1b\xff]52;c;?\a", // in tmux
	"\x1b]5\x802;c;?\a", "\x1b]5\x9d2;c;?\a", "\x1b]5\u009d2;c;?\a", "\x1b]5\xc22;c;?\a", "\x1b]5\x182;c;?\a", "\x1b]5\x7f2;c;?\a",
	"\x1b]4294967348;c;?\a", "\x1b]52x;c;?\a", "\x1b]x5y2;c;?\a", // in tmux, Windows Terminal
	"\xe0\x82\x9d52;c;?\a", "\xc1\x9d52;c;?\a",
	"\x1bPtmux;\x1b\x1b]5\x1b2;c;?\a\x1b\\",
	"\x1bPtmux;\x1b\x1b]5\x1b\\\x1bPtmux;2;c;?\a\x1b\\",
	"\x1bPtmux;\x1b\x1b\x1b\\\x1bPtmux;]52;c;?\a\x1b\\",
	"\x1bPtmux;\x18\x1b\x1b]5\x1b\\\x1bPtmux;2;c;?\a\x1b\\",
	"\x1bPtmux;\u009d5\x1b\\\x1bPtmux;2;c;?\a\x1b\\",
	"\x1bPtmux;\xc2\x1b\\\x1bPtmux;\x9d52;c;?\a\x1b\\",
	"\x1bP\x1b]5\x1b\\\x1bP2;c;?\a\x1b\\",
	"\x1b\x7fP\x1b]5\x1b\\\x1bP2;c;?\a\x1b\\",
}

func TestClipboardBypasses(t *testing.T) {
	for _, in := range bypasses {
		if len(clipboardCommands(in, true)) == 0 {
			t.Errorf("no terminal sees a command in %q", in)
		}
		noClipboard(t, in)
	}
}

// TestClipboardControls puts each control, C1 also as a single byte, in each
// place of each command.
func TestClipboardControls(t *testing.T) {
	var controls []string
	for c := range rune(0xa0) {
		if c < 0x20 || c >= 0x7f {
			controls = append(controls, string(c))
		}
		if c >= 0x80 {
			controls = append(controls, string([]byte{byte(c)}))
		}
	}
	for _, command := range []string{
		"\x1b]52;c;aGk=\a", "\x1b]52;c;?\x1b\\", "\u009d52;c;?\a", "\x9d52;;?\u009c", "\x1b]5522;type=read;x\x1b\\", "\x1b]1337;Copy=:x\a",
		"\x1b]50;CopyToClipboard=x\a",
	} {
		for _, c := range controls {
			for at := range len(command) + 1 {
				noClipboard(t, command[:at]+c+command[at:])
			}
		}
	}
}

// noClipboard fails t if a terminal sees a clipboard command in the filtered in.
func noClipboard(t *testing.T, in string) {
	t.Helper()
	for _, policy := range []terminal.Clipboard{terminal.ClipboardDeny, terminal.ClipboardAllow} {
		whole := string(newClipboardFilter(policy).filter([]byte(in)))
		if commands := clipboardCommands(whole, policy == terminal.ClipboardAllow); len(commands) > 0 {
			t.Errorf("%s: of %q terminals could see %q in %q", policy, in, commands, whole)
		}
		for at := range len(in) + 1 {
			f := newClipboardFilter(policy)
			got := string(f.filter([]byte(in[:at])))
			if got += string(f.filter([]byte(in[at:]))); got != whole {
				t.Errorf("%s: %q, cut at %d: %q, want %q", policy, in, at, got, whole)
			}
		}
	}
}
