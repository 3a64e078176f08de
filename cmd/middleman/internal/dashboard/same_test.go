package dashboard

import (
	"fmt"
	"testing"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
)

func TestShows(t *testing.T) {
	asks := api.Session{Agent: &agent.Status{State: agent.Waiting}}
	for _, tt := range []struct {
		name, seen, newer string
		of                api.Session
		want              bool
	}{
		{"a clock", "\x1b[4;1H12:59:59\x1b[Hready?", "\x1b[4;1H13:00:00\x1b[Hready?", api.Session{}, true},
		{"a time that is asked about", "at 12:59 ready?", "at 13:00 ready?", api.Session{}, false},
		{"a spinner and seconds", "⠋ (9s) esc to stop", "⠙ (10s) esc to stop", api.Session{}, true},
		{"a star", "✻ 3.5s esc to stop", "✶ 4.0s esc to stop", api.Session{}, true},
		{"another word", "\x1b[4;1H12:59\x1b[Hready?", "\x1b[4;1H12:59\x1b[Hremove?", api.Session{}, false},
		{"another number", "delete 3 files?", "delete 300 files?", api.Session{}, false},
		{"another choice", "> 1. Yes", "> 2. No", api.Session{}, false},
		{"the choice moves", "> Yes\r\n  No", "  Yes\r\n> No", api.Session{}, false},
		{"a clock in a dialog", "deploy at 12:59?", "deploy at 13:00?", asks, false},
		{"the same dialog", "deploy?", "deploy?", asks, true},
	} {
		hash := "h1"
		if tt.seen != tt.newer {
			hash = "h2"
		}
		if got := screenOf(tt.seen, "h1", 5).shows(screenOf(tt.newer, hash, 9), tt.of); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A refusal ends a reply at once if another screen cannot be seen, and what is no refusal
// is not sent again.
func TestReplyIsSentOnce(t *testing.T) {
	d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
	for _, err := range []error{nil, fmt.Errorf("type: %w", terminal.ErrChanged), terminal.ErrEnded} {
		sent := 0
		got := d.reply(api.Session{ID: "s1", Backend: "none"}, screenOf("a", "h1", 1), func(*screen) error { sent++; return err })
		if sent != 1 || got != err {
			t.Errorf("%v: sent %d times, %v", err, sent, got)
		}
	}
}

// A clock does not count for a reply, unless the session waits for an answer.
func TestHashFor(t *testing.T) {
	s := screenOf("12:59 ready?", "h1", 5)
	if got := s.hashFor(api.Session{}); got != "h1" {
		t.Errorf("of an owner that tells no steady hash: %q", got)
	}
	s.steady = "s1"
	asks := api.Session{Agent: &agent.Status{State: agent.Waiting}}
	if free, asked := s.hashFor(api.Session{}), s.hashFor(asks); free != "s1" || asked != "h1" {
		t.Errorf("a reply expects %q, an answer %q", free, asked)
	}
}
