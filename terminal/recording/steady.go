package recording

import (
	"regexp"
	"sync"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// moving matches what changes on a screen by itself: the time of day, the seconds that
// something has taken, and the signs of spinners.
var moving = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d{1,2}:\d\d(:\d\d)?\b|\b(\d+m ?)?\d+(\.\d+)?s\b|[\x{2800}-\x{28FF}\x{2722}-\x{274B}]`)
})

// SteadyText returns the text of a screen with "*" for whatever moves by itself.
func SteadyText(t *vt.Terminal, rows terminal.Rows) string {
	return moving().ReplaceAllLiteralString(textOf(t, rows), "*")
}

// Steady returns the hash of the SteadyText of rows, as terminal.Capture has it.
func Steady(t *vt.Terminal, rows terminal.Rows) string { return hashOf(SteadyText(t, rows)) }
