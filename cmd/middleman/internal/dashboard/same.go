package dashboard

import (
	"regexp"
	"sync"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal/vt"
)

// moving matches what changes on a screen by itself: the time of day, the seconds that
// something has taken, and the signs of spinners.
var moving = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d{1,2}:\d\d(:\d\d)?\b|\b(\d+m ?)?\d+(\.\d+)?s\b|[\x{2800}-\x{28FF}\x{2722}-\x{274B}]`)
})

// shows reports whether a newer screen of a session asks of the user what s does: it has
// the same text, but for clocks and spinners. If the session is known to wait for an
// answer the whole text counts, since a time may be what it asks about. Without a hash
// there is only the offset.
func (s *screen) shows(newer *screen, of api.Session) bool {
	switch {
	case s.hash == "" || newer.hash == "":
		return s.hash == newer.hash && s.offset == newer.offset
	case s.hash == newer.hash:
		return true
	case of.Agent != nil && of.Agent.State == agent.Waiting:
		return false
	}
	return s.steady() == newer.steady()
}

// steady returns the text of the screen without what moves by itself.
func (s *screen) steady() string {
	return moving().ReplaceAllLiteralString(s.vt.Text(vt.TextOptions{}), "*")
}
