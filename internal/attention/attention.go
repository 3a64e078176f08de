package attention

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

// Group says what a session is to its user.
type Group int

// The groups, in the order in which they are shown.
const (
	NeedsYou Group = iota
	Unknown        // an agent of which nothing proves that it works, or is idle: it may wait
	Ready
	Working
	Ended
	Groups
)

func (g Group) String() string {
	return [Groups]string{"Needs you", "Unknown", "Ready", "Working", "Ended"}[g]
}

// name returns the group's name in the API.
func (g Group) name() string {
	return [Groups]string{"needs-you", "unknown", "ready", "working", "ended"}[g]
}

// Of returns what lists show of a session.
func Of(s api.Session) *api.Attention {
	g, state, since := Judge(s)
	return &api.Attention{Group: g.name(), State: state, Since: since, Order: Order(g, since, s.WorkspaceName+"/"+s.Name, s.ID)}
}

// OfEmpty returns what lists show of a workspace that has no session.
func OfEmpty(w api.Workspace) *api.Attention {
	g, state, since := JudgeEmpty(w)
	return &api.Attention{Group: g.name(), State: state, Since: since, Order: Order(g, since, w.Label, w.ID)}
}

// Order returns the key by which lists are sorted. In NeedsYou who waits longest
// comes first, in Ended who ended last. The others are in the order of their
// labels, so that they stay where they are.
func Order(g Group, since time.Time, label, id string) string {
	at := int64(0)
	switch g {
	case NeedsYou:
		at = max(0, since.UnixNano())
	case Ended:
		at = math.MaxInt64 - max(0, since.UnixNano())
	}
	return fmt.Sprintf("%d %019d %s %s", g, at, counted(label), id)
}

// counted returns text with the length before each number in it, so that, sorted, fix-2
// comes before fix-10.
func counted(text string) string {
	var b strings.Builder
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits > 0 {
			fmt.Fprintf(&b, "%02d", min(digits, 99))
		}
		n := max(1, digits)
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// State describes a session's state and its exit status, or what its agent does.
func State(s api.Session) string {
	switch {
	case s.State == terminal.StateRunning && s.Agent != nil:
		return s.Agent.Text()
	case s.State == terminal.StateRunning && runs(s) != "":
		return runs(s)
	}
	state := string(s.State)
	if s.Exit != nil {
		if s.Exit.Stopped {
			state = string(agent.Stopped)
		}
		state += " (" + s.Exit.How() + ")"
	}
	if Interrupted(s) {
		state += ", can be resumed"
	}
	return state + left(s)
}

// Interrupted reports whether a session's agent ended although nobody had asked for that,
// as at a reboot, and its conversation, which is known, can be taken up again. That is so
// until somebody has resumed it, started it again or stopped it.
func Interrupted(s api.Session) bool {
	if s.Conversation == "" || s.Settled || s.DeletedAt != nil {
		return false
	}
	if s.Exit == nil {
		return s.State == terminal.StateLost
	}
	return s.State == terminal.StateExited && !s.Exit.Stopped &&
		(slices.Contains(interrupts, s.Exit.Signal) || slices.Contains(interrupts, s.Exit.Code-128))
}

// interrupts are the signals by which a machine that goes down, a closed terminal or a
// lack of memory ends programs: SIGHUP, SIGKILL and SIGTERM. A program that handles one
// exits with 128 and its number.
var interrupts = []int{1, 9, 15}

// left says that processes outlive an ended session's program.
func left(s api.Session) string {
	if len(s.Left) == 0 || !s.State.Ended() {
		return ""
	}
	return ", has left processes"
}

// JudgeEmpty is Judge for a workspace that has no session.
func JudgeEmpty(w api.Workspace) (g Group, state string, since time.Time) {
	state = "no session"
	if w.State != "" && w.State != "ready" {
		state = string(w.State) + ", no session"
	}
	return Ended, state, w.CreatedAt
}

// Judge says which group a session is in, in which state and since when, zero if that is
// not known. An agent that was interrupted needs its user, see Interrupted. The status of
// an agent decides, where it is known; an agent without one may wait for its user, or work,
// and is in a group of its own. Otherwise a bell that nobody has heard needs the user, as
// does a session that does not answer. A shell is ready, unless it runs a program: as far
// as is known it waits for a command. Another program works. Output that nobody has seen
// changes no group, but is named.
func Judge(s api.Session) (g Group, state string, since time.Time) {
	switch {
	case s.State.Ended():
		since = s.CreatedAt
		if s.Exit != nil {
			since = s.Exit.Time
		}
		if Interrupted(s) {
			return NeedsYou, State(s), since
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
		g, state = Unknown, s.Agent.Text()
	case runs(s) != "":
		state = runs(s)
	case IsShell(s.Profile, s.Argv):
		g, state = Ready, "shell"
	}
	switch unseen := s.Unseen; {
	case unseen == nil || unseen.Bytes == 0:
	case unseen.Bell:
		g, state = NeedsYou, "its bell rang"
	case g == Unknown, runs(s) != "":
		state += ", new output"
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

// runs says which program a shell runs, "" if it runs none or another shell, and for what
// is no shell.
func runs(s api.Session) string {
	if s.Foreground == "" || !IsShell(s.Profile, s.Argv) || slices.Contains(shells, s.Foreground) {
		return ""
	}
	return "runs " + plaintext.Line(s.Foreground)
}

// IsShell reports whether a session runs a shell without a command. profile is the name
// of the one that it was started with, "" for none.
func IsShell(profile string, argv []string) bool {
	switch {
	case profile != "":
		return profile == agent.Shell
	case len(argv) == 1, len(argv) == 2 && argv[1] == "-l":
		return slices.Contains(shells, strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe"))
	}
	return false
}

// shells are the programs that wait for commands. A script such as deploy.sh does not.
var shells = []string{"sh", "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "rbash", "tcsh", "xonsh", "yash", "zsh", "cmd", "powershell", "pwsh"}
