package recording

import (
	"testing"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// A spinner never refuses what was typed at a screen, and another question always does.
func TestSteady(t *testing.T) {
	const away = "\x1b[H" // from the last row
	for _, tt := range []struct {
		name, seen, newer string
		rows              terminal.Rows
		same              bool
	}{
		{name: "spinner", seen: "⠋ Working", newer: "⠹ Working", same: true},
		{name: "spinner in a frame", seen: "│ ⠋ Working │", newer: "│ ⠹ Working │", same: true},
		{name: "seconds of work", seen: "✻ Brewing… (9s · esc to interrupt)", newer: "· Brewing… (1m 10s · esc to interrupt)", same: true},
		{name: "hours of work", seen: "• Working (59m 59s • esc to interrupt)", newer: "• Working (1h 0m 0s • esc to interrupt)", same: true},
		{name: "other work", seen: "✻ Brewing… (9s)", newer: "✻ Deleting… (9s)"},
		{name: "seconds in a command", seen: "run sleep 10s? [y/N]", newer: "run sleep 99s? [y/N]"},
		{name: "minutes in a command", seen: "  $ timeout 1m 5s rm x\n> Yes", newer: "  $ timeout 9m 5s rm x\n> Yes"},
		{name: "time in a command", seen: "\x1b[4;1Hat 12:30? [y/N] ", newer: "\x1b[4;1Hat 13:30? [y/N] "},
		{name: "time in a command above", seen: "at 12:30\nOK?", newer: "at 12:31\nOK?"},
		{name: "a list with a time", seen: "  · shutdown in 300s", newer: "  · shutdown in 0s"},
		{name: "a list at the left", seen: "* run: sleep (30s)", newer: "* run: sleep (9s)"},
		{name: "an argument that is a sign", seen: "rm -rf\n* ", newer: "rm -rf\n· "},
		{name: "a time in a wrapped command", seen: "at -f job.sh\n14:05\n> Yes", newer: "at -f job.sh\n02:30\n> Yes"},
		{name: "a time in a box", seen: "│ 14:05 │\n> Yes", newer: "│ 23:59 │\n> Yes"},
		{name: "a time set apart", seen: "snapshot of      14:05\n(y/n)", newer: "snapshot of      14:06\n(y/n)"},
		{name: "work that is quoted in a dialog", seen: "  ✻ Deleting… (30s · esc to interrupt)\n> Yes", newer: "  ✻ Deleting… (3s · esc to interrupt)\n> Yes"},
		{name: "clock in a status line", seen: "\x1b[4;1H[0] 0:sh* \"box\" 12:59 27-Nov-26" + away, newer: "\x1b[4;1H[0] 0:sh* \"box\" 13:00 27-Nov-26" + away, same: true},
		{name: "the same, of some rows", seen: "\x1b[4;1Hbox 12:59 x" + away, newer: "\x1b[4;1Hbox 13:00 x" + away, rows: terminal.Rows{First: 3, Last: 4}, same: true},
		{name: "a row that is last of those alone", seen: "at 12:30\nOK?", newer: "at 12:31\nOK?", rows: terminal.Rows{First: 1, Last: 1}},
		{name: "another window of a status line", seen: "\x1b[4;1H[0] 0:sh* 12:59" + away, newer: "\x1b[4;1H[0] 1:sh* 12:59" + away},
		{name: "a number", seen: "delete 3 files?", newer: "delete 300 files?"},
	} {
		if got := steadyOf(tt.seen, tt.rows) == steadyOf(tt.newer, tt.rows); got != tt.same {
			t.Errorf("%s: same %v, want %v", tt.name, got, tt.same)
		}
	}
}

func steadyOf(text string, rows terminal.Rows) string {
	screen := vt.New(vt.Options{Cols: 60, Rows: 4})
	for _, b := range []byte(text) {
		if b == '\n' {
			screen.Write([]byte{'\r'})
		}
		screen.Write([]byte{b})
	}
	return Steady(screen, rows)
}
