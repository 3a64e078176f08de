package api

import (
	"fmt"

	"middleman/terminal"
)

// SetStatus copies what the session's backend answered into s. It changes nothing that
// the backend does not know.
func (s *Session) SetStatus(status terminal.Status) {
	s.State, s.PID, s.Offset, s.Size, s.Title = status.State, status.PID, status.Head, status.Size, status.Title
	s.Foreground, s.Unseen, s.Left = status.Foreground, status.Unseen, status.Left
	s.Writer, s.Watchers, s.Exit = status.Writer, status.Watchers, status.Exit
	s.KeepOutput, s.Journal, s.Clipboard = status.JournalBytes, status.Journal, status.Clipboard
	s.Source, s.AsOf = status.Source, status.AsOf
	if status.State == terminal.StateLost {
		s.Error = LostText(status)
	}
}

// LostText describes a session that ended without an exit record.
func LostText(status terminal.Status) string {
	text := "the process that hosted its terminal was killed, so it is not known how it ended"
	if status.Lost != "" {
		text = status.Lost
	}
	if n := len(status.Left); n > 0 {
		text = fmt.Sprintf("%s; %d of its processes still run: a stop ends them", text, n)
	}
	return text
}
