package recording

import (
	"regexp"
	"strings"
	"sync"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// What changes on a screen by itself. A time that stands elsewhere may be a part of what
// somebody is asked about, such as "run sleep 10s?", so it is text like any other.
var (
	// work matches a row of work, which begins with the sign of a spinner. What it has
	// taken so far, "12s" or "1m 12s", is matched by taken.
	work  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[·•*\x{2722}-\x{274B}\x{2800}-\x{28FF}]\s`) })
	taken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d+h ?)?(\d+m ?)?\d+(\.\d+)?s\b`) })
	// clock matches the time of day in a status line, and aloneClock where it stands by
	// itself: at an end of the row or between wide blanks, on both sides.
	clock      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d{1,2}:\d\d(:\d\d)?\b`) })
	aloneClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^\s*|\s{3})\d{1,2}:\d\d(:\d\d)?(\s{3}|\s*$)`)
	})
	// spinner matches a sign that spins and is used for nothing else.
	spinner = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\x{2800}-\x{28FF}]`) })
)

// SteadyText returns the text of rows with "*" for what moves by itself: spinners, the
// seconds in a row of work, and the time of day where it stands alone or in a status line,
// which is the last row of a screen whose cursor is elsewhere.
func SteadyText(t *vt.Terminal, rows terminal.Rows) string {
	lines := strings.SplitAfter(textOf(t, rows), "\n")
	_, height := t.Size()
	status := height - max(rows.First, 1)
	if t.Cursor().Row == height-1 {
		status = -1
	}
	for i, line := range lines {
		if work().MatchString(line) {
			line = taken().ReplaceAllLiteralString(line, "*")
			line = work().ReplaceAllLiteralString(line, "* ")
		}
		if i == status {
			line = clock().ReplaceAllLiteralString(line, "*")
		}
		line = aloneClock().ReplaceAllString(line, "$1*$3")
		lines[i] = spinner().ReplaceAllLiteralString(line, "*")
	}
	return strings.Join(lines, "")
}

// Steady returns the hash of the SteadyText of rows, as terminal.Capture has it.
func Steady(t *vt.Terminal, rows terminal.Rows) string { return hashOf(SteadyText(t, rows)) }
