package dashboard

import (
	"cmp"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
	"middleman/terminal/recording"
)

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
	case waits(of):
		return false
	}
	return recording.SteadyText(s.vt, terminal.Rows{}) == recording.SteadyText(newer.vt, terminal.Rows{})
}

func waits(s api.Session) bool { return s.Agent != nil && s.Agent.State == agent.Waiting }

// hashFor returns the hash that the session must still show for a reply to this screen:
// as shows has it, and compared in the session's owner.
func (s *screen) hashFor(of api.Session) string {
	if waits(of) {
		return s.hash
	}
	return cmp.Or(s.steady, s.hash)
}

// expect is what must hold for a reply to this screen.
func (s *screen) expect(of api.Session) terminal.Expect {
	if s.hash == "" {
		return terminal.Expect{Offset: &s.offset}
	}
	return terminal.Expect{Hash: s.hashFor(of)}
}
