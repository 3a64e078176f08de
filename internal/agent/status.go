package agent

import "time"

// State is what an agent does, as far as that can be told.
type State string

// The states of an agent.
const (
	Working State = "working"
	Waiting State = "waiting" // for the user; Kind says for what
	Idle    State = "idle"    // its turn is over: for the next prompt
	Done    State = "done"    // the program has exited with 0
	Failed  State = "failed"  // it has exited otherwise, or was killed
	Stopped State = "stopped" // it has ended, however, after somebody asked for that
	Lost    State = "lost"    // it is gone, and nobody knows how
	Unknown State = "unknown" // nothing that is known of it matches: never a guess
)

// Kind says more of a State.
type Kind string

// The kinds of Waiting; Background is one of Idle.
const (
	Permission Kind = "permission"
	Question   Kind = "question"
	Login      Kind = "login"
	RateLimit  Kind = "rate limit"
	Background Kind = "background" // its turn is over, and work that it has started runs
)

// The sources of a Status.
const (
	FromExit     = "exit"
	FromTitle    = "title"
	FromProgress = "progress" // OSC 9;4
	FromScreen   = "screen"
	FromHook     = "hook"
)

// How much a Status is worth.
const (
	high   = "high"   // an exit, a screen that shows it, or two sources that agree
	medium = "medium" // a title, a progress or a hook alone
)

// Status is what an agent does, and why that is believed.
type Status struct {
	State      State     `json:"state" enum:"working,waiting,idle,done,failed,stopped,lost,unknown"`
	Kind       Kind      `json:"kind,omitempty" enum:"permission,question,login,rate limit,background" doc:"What it waits for; background, if idle: its turn is over, and work that it has started runs"`
	Source     string    `json:"source,omitempty" enum:"exit,title,progress,screen,hook" doc:"What decided; unset if the state is unknown"`
	Rule       string    `json:"rule,omitempty" doc:"The rule, or the event of the hook, that decided"`
	Reason     string    `json:"reason,omitempty" doc:"One line for the user"`
	Confidence string    `json:"confidence,omitempty" enum:"high,medium" doc:"high: an exit, a screen that shows it, or two sources that agree; medium: a title, a progress or a hook alone"`
	Since      time.Time `json:"since,omitzero" doc:"Since when it is in this state"`
}

// Text returns the state in the user's words.
func (s Status) Text() string {
	switch {
	case s.State == Waiting && s.Kind != "":
		return "waiting (" + string(s.Kind) + ")"
	case s.Kind == Background:
		return "idle (work runs)"
	}
	return string(s.State)
}

// Ended reports whether the program runs no more.
func (s Status) Ended() bool {
	return s.State == Done || s.State == Failed || s.State == Stopped || s.State == Lost
}

// Certain reports whether what decided leaves no doubt: an end, a screen that shows
// the state, or two sources that agree.
func (s Status) Certain() bool { return s.Confidence == high }

// same reports whether two statuses differ at most in why they are believed.
func (s Status) same(other Status) bool { return s.State == other.State && s.Kind == other.Kind }
