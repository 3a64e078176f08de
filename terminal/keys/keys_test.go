package keys

import "testing"

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, want, application string }{
		{"Enter", "\r", ""}, {"Escape", "\x1b", ""}, {"Tab", "\t", ""}, {"BTab", "\x1b[Z", ""}, {"S-Tab", "\x1b[Z", ""},
		{"BSpace", "\x7f", ""}, {"C-BSpace", "\b", ""}, {"Space", " ", ""}, {"C-Space", "\x00", ""}, {"M-Enter", "\x1b\r", ""},
		{"Up", "\x1b[A", "\x1bOA"}, {"Down", "\x1b[B", "\x1bOB"}, {"Right", "\x1b[C", "\x1bOC"}, {"Left", "\x1b[D", "\x1bOD"},
		{"Home", "\x1b[H", "\x1bOH"}, {"End", "\x1b[F", "\x1bOF"}, {"up", "\x1b[A", "\x1bOA"},
		{"S-Up", "\x1b[1;2A", ""}, {"M-Left", "\x1b[1;3D", ""}, {"C-Right", "\x1b[1;5C", ""}, {"C-M-S-End", "\x1b[1;8F", ""},
		{"F1", "\x1bOP", ""}, {"F4", "\x1bOS", ""}, {"F5", "\x1b[15~", ""}, {"F10", "\x1b[21~", ""}, {"F12", "\x1b[24~", ""},
		{"S-F1", "\x1b[1;2P", ""}, {"C-F5", "\x1b[15;5~", ""},
		{"IC", "\x1b[2~", ""}, {"Insert", "\x1b[2~", ""}, {"DC", "\x1b[3~", ""}, {"Delete", "\x1b[3~", ""}, {"C-Delete", "\x1b[3;5~", ""},
		{"PPage", "\x1b[5~", ""}, {"PageUp", "\x1b[5~", ""}, {"PgUp", "\x1b[5~", ""}, {"NPage", "\x1b[6~", ""}, {"PageDown", "\x1b[6~", ""}, {"PgDn", "\x1b[6~", ""},
		{"C-c", "\x03", ""}, {"c-c", "\x03", ""}, {"C-C", "\x03", ""}, {"^c", "\x03", ""}, {"C-a", "\x01", ""}, {"C-z", "\x1a", ""}, {"C-@", "\x00", ""},
		{"C-[", "\x1b", ""}, {"C-\\", "\x1c", ""}, {"C-]", "\x1d", ""}, {"C-^", "\x1e", ""}, {"C-_", "\x1f", ""}, {"C-/", "\x1f", ""}, {"C-?", "\x7f", ""},
		{"M-x", "\x1bx", ""}, {"C-M-x", "\x1b\x18", ""}, {"M-C-x", "\x1b\x18", ""}, {"M-ü", "\x1bü", ""},
		{"a", "a", ""}, {"A", "A", ""}, {"-", "-", ""}, {"^", "^", ""}, {"ü", "ü", ""}, {"日", "日", ""},
	} {
		if tt.application == "" {
			tt.application = tt.want
		}
		for application, want := range map[bool]string{false: tt.want, true: tt.application} {
			if got, err := Bytes(tt.name, application); err != nil || string(got) != want {
				t.Errorf("%s, application %v: %q, %v, want %q", tt.name, application, got, err, want)
			}
		}
		if is := tt.want != tt.application; isCursor(tt.name) != is {
			t.Errorf("%s depends on the mode: %v, want %v", tt.name, !is, is)
		}
	}
	for _, name := range []string{"", "Entr", "ab", "C-", "C-ü", "C-1", "S-a", "C-Enter", "C-S-x", "X-x", "F13", "F0", "\x03", "\x7f", "\xff", "C-Tab", "M-"} {
		if got, err := Bytes(name, false); err == nil {
			t.Errorf("%q is a key: %q", name, got)
		}
	}
}
