package catalog

import (
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
)

// Group says what a session is to its user.
type Group int

// The groups, in the order in which they are shown.
const (
	NeedsYou Group = iota
	Ready
	Working
	Ended
	Groups
)

func (g Group) String() string {
	return [Groups]string{"Needs you", "Ready", "Working", "Ended"}[g]
}

// Standing says which group a session is in, in which state and since when. The
// status of an agent decides, where it is known. Otherwise a bell that nobody has
// heard needs the user, as does a session that does not answer. A shell is ready: as
// far as is known it waits for a command. Another program works. Output that nobody
// has seen changes no group, but is named.
func Standing(s api.Session) (g Group, state string, since time.Time) {
	switch {
	case s.State.Ended():
		since = s.CreatedAt
		if s.Exit != nil {
			since = s.Exit.Time
		}
		return Ended, State(s), since
	case s.State == terminal.StateUnreachable && s.Runtime != "":
		return Working, "its machine is unreachable", s.CreatedAt // which the user may well know
	case s.State == terminal.StateUnreachable:
		return NeedsYou, "does not answer", s.CreatedAt
	case s.State != terminal.StateRunning:
		return Working, string(s.State), s.CreatedAt
	case s.Agent != nil && s.Agent.State != agent.Unknown:
		if state = s.Agent.Text(); s.Agent.Reason != "" {
			state += ": " + s.Agent.Reason
		}
		return groupOf(s.Agent.State), state, s.Agent.Since
	}
	switch g, state = Working, string(s.State); {
	case s.Agent != nil:
		state = string(s.Agent.State)
	case isShell(s):
		g, state = Ready, "shell"
	}
	switch unseen := s.Unseen; {
	case unseen == nil || unseen.Bytes == 0:
	case unseen.Bell:
		g, state = NeedsYou, "its bell rang"
	default:
		state = "new output"
	}
	if s.Writer != nil {
		state += ", attached"
	}
	return g, state, s.CreatedAt
}

// groupOf returns the group of a running session by what its agent does.
func groupOf(s agent.State) Group {
	switch s {
	case agent.Working:
		return Working
	case agent.Idle, agent.Done:
		return Ready
	}
	return NeedsYou
}

// isShell reports whether a session runs a shell without a command.
func isShell(s api.Session) bool {
	return s.Profile == agent.Shell || s.Profile == "" && len(s.Argv) == 1 && strings.HasSuffix(filepath.Base(s.Argv[0]), "sh")
}
