package agent

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// settle is how long a hook is believed against a screen that showed
	// something else before: the screen follows its hook, or the hook is wrong.
	settle = 2 * time.Second
	// silentWork, silentWait and silentIdle are how long a hook is believed
	// where the screen shows nothing that is known, of silentWait: no composer. Work
	// shows itself by output: a title or progress without it is believed for silentWork too.
	silentWork = 2 * time.Minute
	silentWait = time.Hour
	silentIdle = 12 * time.Hour
)

// Tracker follows what one agent does. It has what the present screen shows and
// what the newest hook has said, and decides between the two. It is plain data:
// it is kept as JSON across restarts of the server. The zero Tracker knows
// nothing. Its methods are not safe for concurrent use.
type Tracker struct {
	// Rules names the profile whose rules hold for the screen.
	Rules string `json:"rules,omitempty"`
	// ByHand is set while Rules hold because a shell runs their program.
	ByHand bool `json:"by_hand,omitempty"`
	// Seen is what the screen or title shows, since it first showed it.
	Seen View `json:"seen,omitzero"`
	// Heard is what the newest hook said; its State is "" if there was none.
	Heard Status `json:"heard,omitzero"`
	// Over says why Heard is believed no more, "" if it is. It stays so: what the
	// screen has once contradicted does not come back when the screen says nothing.
	Over string `json:"over,omitempty"`
	// Late is set with Over if what contradicts Heard was seen before that was told, as a
	// screen that is drawn late.
	Late bool `json:"late,omitempty"`
	// Held is set while the hook itself waits for the answer: then the agent has not
	// yet drawn a dialog, and its screen shows no sign of that it waits.
	Held bool `json:"held,omitempty"`
	// Turn is the newest turn that has begun, and Turns are some of before. Tool and
	// Call say which call of a tool Heard is about.
	Turn string `json:"turn,omitempty"`
	// Conversation is the one that the newest prompt was for.
	Conversation string   `json:"conversation,omitempty"`
	Turns        []string `json:"turns,omitempty"`
	Tool         string   `json:"tool,omitempty"`
	Call         string   `json:"call,omitempty"`
	// Open are the requests that wait for an answer, of an agent that tells of each answer.
	Open []open `json:"open,omitempty"`
	// Asked is when a screen last showed a dialog, and Composed since when it shows the
	// composer, zero if it does not.
	Asked    time.Time `json:"asked,omitzero"`
	Composed time.Time `json:"composed,omitzero"`
	// Active is when the program last printed something, as far as that was seen.
	Active time.Time `json:"active,omitzero"`
	// Moved is when the row that shows work last changed. One that never does may be a text
	// that is quoted.
	Moved time.Time `json:"moved,omitzero"`
	// Gone is when the screen ceased to show work, and showed nothing that is known
	// instead; zero if it shows something.
	Gone time.Time `json:"gone,omitzero"`
	// Told is set once the title has told of work, and Mute once there was work that it
	// did not tell of: what says nothing of work says nothing of its end.
	Told bool `json:"told,omitempty"`
	Mute bool `json:"mute,omitempty"`
	// Now is what all this means.
	Now Status `json:"now,omitzero"`
}

// Why a hook is believed no more.
const (
	contradicted = "contradicted" // the screen showed something else
	expired      = "expired"      // nothing has shown it for long
)

// See takes what the program shows now. printed says that there was output since the
// last call. It reports whether Now has changed, or whether Heard is believed.
func (t *Tracker) See(v View, printed bool, now time.Time) bool {
	t.Told = t.Told || v.Titled == Working
	t.Mute = t.Mute || v.State == Working && v.Titled == Idle
	v.Status = t.heed(v.Status)
	v.Since = now
	if v.same(t.Seen.Status) && v.Rule == t.Seen.Rule && !t.Seen.Since.IsZero() {
		v.Since = t.Seen.Since
	}
	switch {
	case v.State != Unknown:
		t.Gone = time.Time{}
	case t.Seen.State == Working && t.Seen.Source != FromProgress: // which ends before the work does
		t.Gone = now
	}
	switch {
	case !v.Composer:
		t.Composed = time.Time{}
	case t.Composed.IsZero():
		t.Composed = now
	}
	if v.State == Waiting && v.Source == FromScreen {
		t.Asked = now
	}
	if v.Work != "" && t.Seen.Work != "" && v.Work != t.Seen.Work {
		t.Moved = now
	}
	t.Seen = v
	if printed {
		t.Active = now
	}
	return t.Decide(now)
}

// heed returns a status that is seen, without what a title says that need not change.
// Claude Code of before 2.1.228 tells of work by its title; that of 2.1.236 is always a
// star (DaniAkash/agent-terminal#143).
func (t *Tracker) heed(seen Status) Status {
	if seen.Source == FromTitle && seen.State == Idle && t.Mute && !t.Told {
		return Status{State: Unknown, Since: seen.Since, Reason: "its title says the same while it works, and nothing else shows what it does"}
	}
	return seen
}

// Run takes which profile's rules hold for the program that a shell runs, "" for none.
// What was known of another program is forgotten. It reports whether anything has changed.
func (t *Tracker) Run(rules string, now time.Time) bool {
	switch {
	case rules == t.Rules && (rules == "" || t.ByHand), rules == "" && !t.ByHand:
		return false
	case rules == "":
		*t = Tracker{}
	case rules == t.Rules: // a hook has told of it
		t.ByHand = true
	default:
		*t = Tracker{Rules: rules, ByHand: true, Now: Status{State: Unknown, Reason: "it was just started", Since: now}}
	}
	return true
}

// maxTurns is how many turns of before are known for such.
const maxTurns = 8

// Foreign reports whether h ends a turn of another conversation than the one that the
// newest prompt was for, such as that of an agent that this one has started.
func (t *Tracker) Foreign(h Hook) bool {
	return h.State == Idle && h.Conversation != "" && t.Conversation != "" && h.Conversation != t.Conversation
}

// Hear takes what a hook says. What comes late, or twice, is ignored, as is what is
// about another turn than the newest one, and, while the agent asks about one call of a
// tool, what is about another call. It reports whether Now has changed, or whether Heard
// is believed.
func (t *Tracker) Hear(h Hook, now time.Time) bool {
	at := h.At
	if at.After(now) {
		at = now
	}
	if h.State == "" || !at.After(t.Heard.Since) || t.Turn != h.Turn && slices.Contains(t.Turns, h.Turn) {
		return false
	}
	if t.Foreign(h) {
		return false
	}
	answers := protocols[h.Agent].answers
	if !answers && t.Heard.Asks() && t.Over == "" && h.State == Working && another(t.Tool, h.Tool, t.Call, h.Call) {
		return false
	}
	if t.turnIsOver() && h.State == Working && h.ofTool() && h.Turn == t.Turn && at.Before(t.Heard.Since.Add(settle)) {
		return false // hooks of tools need not be awaited by the agent: this one is late
	}
	if t.Over == "" && cutShort(t.Heard) && t.Heard.Rule == opencodeFailed && h.State == Idle {
		return false // OpenCode tells that it is idle after an error too
	}
	if h.Begins && h.Turn != t.Turn {
		if t.Turn != "" {
			t.Turns = append(t.Turns[max(0, len(t.Turns)-maxTurns+1):], t.Turn)
		}
		t.Turn = h.Turn
	}
	heard := Status{State: h.State, Kind: h.Kind, Rule: h.Event, Reason: h.Reason, Since: at, Source: FromHook, Confidence: medium}
	if answers {
		heard, h.Tool = t.keepOpen(heard, h.Tool)
	}
	if h.Event == protocols[h.Agent].begins && h.Conversation != "" {
		t.Conversation = h.Conversation
	}
	t.Heard = heard
	t.Tool, t.Call, t.Held, t.Over = h.Tool, h.Call, h.Held, ""
	t.Mute = t.Mute || h.State == Working && t.Seen.Titled == Idle
	t.Seen.Status = t.heed(t.Seen.Status)
	return t.Decide(now)
}

// maxOpen is how many requests of one agent are known that wait at once.
const maxOpen = 32

// open is a request that waits for its answer, by its id.
type open struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
}

// keepOpen returns what counts after a hook of an agent that tells of the answer to each of
// its requests: the newest request that is still open, or what the hook said. Work answers
// none of them, since subagents ask as well. The end of the turn ends them all.
func (t *Tracker) keepOpen(heard Status, id string) (Status, string) {
	if t.Over != "" {
		t.Open = nil // the screen has shown that nothing is asked
	}
	if id != "" {
		t.Open = slices.DeleteFunc(t.Open, func(o open) bool { return o.ID == id })
	}
	switch {
	case id != "" && heard.Asks():
		t.Open = append(t.Open[max(0, len(t.Open)-maxOpen+1):], open{id, heard})
	case heard.State != Working:
		t.Open = nil
	case len(t.Open) > 0:
		newest := t.Open[len(t.Open)-1]
		newest.Status.Since = heard.Since
		return newest.Status, newest.ID
	}
	return heard, id
}

// turnIsOver reports whether the newest hook that is believed said that a turn is over.
func (t *Tracker) turnIsOver() bool {
	return t.Over == "" && (t.Heard.State == Idle || cutShort(t.Heard))
}

// GoneOn reports what an event proves of an agent that was waiting: that its turn is
// over, or another one begins, or that it has run what ran says, "" for neither.
func (h Hook) GoneOn() (over bool, ran string) {
	switch {
	case h.Begins, h.State == Idle, cutShort(Status{State: h.State, Kind: h.Kind}):
		return true, ""
	case h.State == Working && slices.Contains([]string{"PostToolUse", "PostToolUseFailure"}, h.Event):
		return false, h.Call
	}
	return false, ""
}

// ofTool reports whether an event is about the call of a tool.
func (h Hook) ofTool() bool { return h.Tool != "" || h.Call != "" }

// another reports whether two events are about two calls of tools: by their ids or, if
// one has none, by what the calls do.
func another(tool, otherTool, call, otherCall string) bool {
	if tool != "" && otherTool != "" {
		return tool != otherTool
	}
	return call != "" && otherCall != "" && call != otherCall
}

// Decide works Now out again. It reports whether that has changed, or whether Heard is
// believed.
func (t *Tracker) Decide(now time.Time) bool {
	over := t.Over
	if t.Over == contradicted && t.Late && t.Heard.State == Idle && t.Seen.State == Unknown {
		t.Over = "" // what was left of the turn is gone, and no hook told of another one
	}
	if t.Over == "" && t.Heard.State != "" && !t.Seen.Ended() {
		if at, why := t.expires(); !at.IsZero() && !now.Before(at) {
			t.Over, t.Late = why, !t.Seen.Since.After(t.Heard.Since)
		}
	}
	if at := t.silence(); !at.IsZero() && !now.Before(at) {
		t.Seen.Status = Status{State: Unknown, Since: now, Reason: "its " + t.Seen.Source + " tells of work, and it has printed nothing for " + silentWork.String()}
	}
	s := t.decide()
	s.Since = now
	if s.same(t.Now) && !t.Now.Since.IsZero() {
		s.Since = t.Now.Since
	}
	changed := s != t.Now || over != t.Over
	t.Now = s
	return changed
}

// Next returns when Decide may say something else although nothing happens, or
// the zero time.
func (t *Tracker) Next() time.Time {
	if t.Now.Ended() {
		return time.Time{}
	}
	at := t.silence()
	if t.Heard.State == "" || t.Over != "" {
		return at
	}
	if over, _ := t.expires(); at.IsZero() || !over.IsZero() && over.Before(at) {
		return over
	}
	return at
}

// silence is when a title or progress of work that is seen is no more believed, zero if
// there is none: the program may have died with it, and a spinner moves.
func (t *Tracker) silence() time.Time {
	switch {
	case t.Seen.State != Working || t.Seen.Source != FromProgress && t.Seen.Source != FromTitle:
		return time.Time{}
	case t.Active.IsZero():
		return t.Seen.Since.Add(silentWork)
	}
	return t.Active.Add(silentWork)
}

// expires is when the newest hook is no more believed, and why. It is zero while the
// screen says the same.
func (t *Tracker) expires() (at time.Time, why string) {
	if at := t.contradiction(); !at.IsZero() {
		return at, contradicted
	}
	heard := t.Heard.Since
	switch t.Heard.State {
	case t.Seen.State:
		return time.Time{}, ""
	case Working:
		if t.Active.After(heard) {
			heard = t.Active
		}
		return heard.Add(silentWork), expired
	case Waiting:
		if t.Asked.After(heard) {
			heard = t.Asked
		}
		return heard.Add(silentWait), expired
	default:
		return heard.Add(silentIdle), expired
	}
}

// contradiction is when what is seen withdraws what the newest hook said, zero for
// never. The screen follows its hook, so it counts settle after that.
func (t *Tracker) contradiction() time.Time {
	heard, seen := t.Heard, t.Seen
	settled := heard.Since.Add(settle)
	later := func(at time.Time) time.Time {
		if at.After(settled) {
			return at
		}
		return settled
	}
	switch {
	case heard.Asks():
		// A title, or a sign of work, stays while an agent asks. The composer does not.
		switch {
		case t.Composed.IsZero() || t.Held:
			return time.Time{}
		case t.Composed.After(heard.Since) && t.Asked.After(heard.Since):
			return t.Composed // the dialog that it was about is gone
		}
		return later(t.Composed)
	case heard.State == Working && t.Gone.After(heard.Since):
		return t.Gone.Add(settle) // what showed the work is gone: an interrupt need not tell a hook
	case seen.State == Unknown || seen.State == "":
		return time.Time{}
	case seen.State == heard.State:
		return time.Time{}
	case seen.State == Idle && cutShort(heard) && !seen.Since.After(settled):
		return time.Time{} // it shows that the turn is over, and the hook knows why
	case seen.State == Working && seen.Source != FromScreen && !seen.Since.After(heard.Since):
		return time.Time{} // a title or a progress that was left behind
	case seen.Work != "" && heard.State == Idle && !seen.Since.After(settled) && !t.Moved.After(heard.Since):
		return time.Time{} // a text that looks like work, and does not move
	case seen.State == Waiting && seen.Source == FromScreen:
		return later(seen.Since) // until then it may be answered, and the hook tell of that
	case seen.Since.After(heard.Since):
		return seen.Since
	}
	return settled
}

// decide works Now out of what is seen, and of what was heard unless that is over.
func (t *Tracker) decide() Status {
	seen, heard := t.Seen.Status, t.Heard
	if seen.State == "" {
		seen.State = Unknown
	}
	switch {
	case seen.Ended() || heard.State == "":
		return seen
	case t.Over != "":
		if seen.State == Unknown || t.Over == expired && heard.Asks() && seen.Source == FromTitle && t.Composed.IsZero() {
			return Status{State: Unknown, Reason: fmt.Sprintf("the hook %s said %s, and nothing shows it any more", heard.Rule, heard.State)}
		}
		return seen
	case seen.State == heard.State && seen.Since.After(heard.Since.Add(settle)):
		return seen // the hook was about another time
	case seen.State == heard.State:
		// The hook knows what for, the screen that it is still so.
		seen.Kind, seen.Reason = cmp.Or(heard.Kind, seen.Kind), cmp.Or(heard.Reason, seen.Reason)
		seen.Confidence = high
		return seen
	case seen.State == Waiting && seen.Source == FromScreen:
		return seen // a dialog that shows is not argued with
	}
	return heard
}

// Asks reports whether a status is that of a dialog.
func (s Status) Asks() bool { return s.State == Waiting && !cutShort(s) }

// cutShort reports whether a hook said that a turn ended by an error.
func cutShort(heard Status) bool {
	return heard.State == Failed || heard.State == Waiting && (heard.Kind == Login || heard.Kind == RateLimit)
}
