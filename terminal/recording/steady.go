package recording

import (
	"regexp"
	"strings"
	"sync"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// What changes on a screen by itself is left out only where it can be nothing else. A time
// that stands elsewhere may be a part of what somebody is asked about, such as a command.
var (
	// work matches a row of work: at its beginning the sign of a spinner, and in it how to
	// end the work. What it has taken so far, "12s" or "1m 12s", is matched by taken.
	work = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^( ?[·•*\x{2722}-\x{274B}\x{2800}-\x{28FF}]) .*(?i:esc|ctrl\+c) (?i:to )?(?i:interrupt|cancel|stop)`)
	})
	taken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d+h ?)?(\d+m ?)?\d+(\.\d+)?s\b`) })
	// clock matches the time of day.
	clock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d{1,2}:\d\d(:\d\d)?\b`) })
	// spinner matches a sign that spins and is used for nothing else.
	spinner = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\x{2800}-\x{28FF}]`) })
)

// SteadyText returns the text of rows with "*" for what moves by itself: spinners, the
// seconds in a row of work, and the time of day in a status line, which is the last row of
// a screen whose cursor is elsewhere.
func SteadyText(t *vt.Terminal, rows terminal.Rows) string {
	lines := strings.SplitAfter(textOf(t, rows), "\n")
	_, height := t.Size()
	status := height - max(rows.First, 1)
	if t.Cursor().Row == height-1 {
		status = -1
	}
	for i, line := range lines {
		if m := work().FindStringSubmatchIndex(line); m != nil {
			line = "*" + taken().ReplaceAllLiteralString(line[m[3]:], "*")
		}
		if i == status {
			line = clock().ReplaceAllLiteralString(line, "*")
		}
		lines[i] = spinner().ReplaceAllLiteralString(line, "*")
	}
	return strings.Join(lines, "")
}

// Steady returns the hash of the SteadyText of rows, as terminal.Capture has it.
func Steady(t *vt.Terminal, rows terminal.Rows) string { return hashOf(SteadyText(t, rows)) }
