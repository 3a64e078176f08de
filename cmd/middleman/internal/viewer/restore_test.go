package viewer

import (
	"testing"

	"middleman/terminal/vt"
)

// Whatever a program has done to the terminal, it is as new when the session
// is left, but for what stands on the screen.
func TestRestore(t *testing.T) {
	tests := []struct{ name, in string }{
		{"nothing", ""},
		{"text", "hello\r\nworld"},
		{"alternate screen", "before\x1b[?1049h\x1b[2Jvim"},
		{"alternate screen, margins", "\x1b[?1049h\x1b[5;10r\x1b[?6h\x1b[3;3Hx"},
		{"mouse and paste", "\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[?2004h"},
		{"keyboards", "\x1b[?1h\x1b=\x1b[>1u\x1b[>5u\x1b[>4;2m"},
		{"cursor", "\x1b[?25l\x1b[5 q"},
		{"rendition", "\x1b[1;3;4;7;38;2;1;2;3;48;5;9m\x1b]8;;http://example.org\x1b\\link"},
		{"colours", "\x1b]4;1;#123456\a\x1b]10;#111111\a\x1b]11;#222222\a\x1b]12;#333333\a"},
		{"modes", "\x1b[4h\x1b[20h\x1b[?7l\x1b[?5h\x1b[?2026h\x1b[?69h\x1b[3;20s"},
		{"progress", "\x1b]9;4;1;50\a"},
		{"character set", "\x1b(0\x0e\x1b)0"},
		{"string cut off", "\x1b]0;half a tit"},
		{"sequence cut off", "\x1b[38;5"},
	}
	fresh := vt.New(vt.Options{Cols: 80, Rows: 24})
	fresh.Write([]byte("\x1b7\x1b[H\x1b[2J"))
	want := string(fresh.AppendSnapshot(nil, vt.SnapshotOptions{}))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			terminal, screen := vt.New(vt.Options{Cols: 80, Rows: 24}), newScreenTracker()
			terminal.Write([]byte(tt.in))
			screen.observe([]byte(tt.in))
			terminal.Write([]byte(screen.restore()))
			// The cursor saved and the screen are not asked about.
			terminal.Write([]byte("\x1b[H\x1b7\x1b[2J\x1b]0;\a"))
			if got := string(terminal.AppendSnapshot(nil, vt.SnapshotOptions{})); got != want {
				t.Errorf("got %q,\nwant %q", got, want)
			}
		})
	}
}

// The message about the end stands below what the program has drawn.
func TestRestoreKeepsText(t *testing.T) {
	terminal := vt.New(vt.Options{Cols: 20, Rows: 5})
	terminal.Write([]byte("$ echo hi\r\nhi\r\n$ " + (&screenTracker{}).restore() + "[back]"))
	if got, want := terminal.Text(vt.TextOptions{}), "$ echo hi\nhi\n$\n[back]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	terminal = vt.New(vt.Options{Cols: 20, Rows: 5})
	terminal.Write([]byte("$ vi\r\n\x1b[?1049h\x1b[2J~\r\n~\r\n~" + (&screenTracker{alternate: true}).restore() + "[back]"))
	if got, want := terminal.Text(vt.TextOptions{}), "$ vi\n[back]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
