package agent

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// settle is how long a hook is believed against a screen that showed
	// something else before: the screen follows its hook, or the hook is wrong.
	settle = 2 * time.Second
	// silentWork, silentWait and silentIdle are how long a hook is believed
	// where the screen shows nothing that is known. Work shows itself by output.
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
	// Seen is what the screen or title shows, since it first showed it.
	Seen Status `json:"seen,omitzero"`
	// Heard is what the newest hook said; its State is "" if there was none.
	Heard Status `json:"heard,omitzero"`
	// Active is when the program last printed something, and Moved when it last
	// changed its Title, as far as that was seen.
	Active time.Time `json:"active,omitzero"`
	Moved  time.Time `json:"moved,omitzero"`
	Title  string    `json:"title,omitempty"`
	// Gone is when the screen ceased to show work, and showed nothing that is known
	// instead; zero if it shows something.
	Gone time.Time `json:"gone,omitzero"`
	// Now is what all this means.
	Now Status `json:"now,omitzero"`
}

// See takes what the evidence of the time now shows. printed says that there was
// output since the last call. It reports whether Now has changed.
func (t *Tracker) See(s Status, e Evidence, printed bool, now time.Time) bool {
	s.Since = now
	if s.same(t.Seen) && s.Rule == t.Seen.Rule && !t.Seen.Since.IsZero() {
		s.Since = t.Seen.Since
	}
	switch {
	case s.State != Unknown:
		t.Gone = time.Time{}
	case t.Seen.State == Working:
		t.Gone = now
	}
	t.Seen = s
	if printed {
		t.Active = now
	}
	if e.Title != t.Title {
		t.Title, t.Moved = e.Title, now
	}
	return t.Decide(now)
}

// Hear takes what a hook said at the time at. What comes late, or twice, is
// ignored. It reports whether Now has changed.
func (t *Tracker) Hear(s Status, at, now time.Time) bool {
	if at.After(now) {
		at = now
	}
	if s.State == "" || !at.After(t.Heard.Since) {
		return false
	}
	s.Since, s.Source, s.Confidence = at, FromHook, medium
	t.Heard = s
	return t.Decide(now)
}

// Decide works Now out again, and reports whether it has changed.
func (t *Tracker) Decide(now time.Time) bool {
	s := t.decide(now)
	s.Since = now
	if s.same(t.Now) && !t.Now.Since.IsZero() {
		s.Since = t.Now.Since
	}
	changed := s != t.Now
	t.Now = s
	return changed
}

// Next returns when Decide may say something else although nothing happens, or
// the zero time.
func (t *Tracker) Next() time.Time {
	if t.Now.Source != FromHook {
		return time.Time{}
	}
	return t.expires()
}

// expires is when the newest hook is no more believed.
func (t *Tracker) expires() time.Time {
	heard := t.Heard.Since
	switch {
	case t.Heard.State == Working && t.Gone.After(heard):
		return t.Gone.Add(settle) // what showed the work is gone: an interrupt need not tell a hook
	case t.Seen.State == Unknown || t.Seen.State == "":
	case t.Heard.State == Waiting && t.Seen.State == Working && !t.Moved.After(heard.Add(settle)):
		// Titles and hints of work stay, and stand still, while an agent asks.
	case t.Seen.State == Idle && cutShort(t.Heard):
		// It shows that the turn is over, and the hook knows why.
	case !t.Heard.same(t.Seen):
		return heard.Add(settle)
	}
	switch t.Heard.State {
	case Working:
		if t.Active.After(heard) {
			heard = t.Active
		}
		return heard.Add(silentWork)
	case Waiting:
		return heard.Add(silentWait)
	default:
		return heard.Add(silentIdle)
	}
}

func (t *Tracker) decide(now time.Time) Status {
	seen, heard := t.Seen, t.Heard
	if seen.State == "" {
		seen.State = Unknown
	}
	switch {
	case seen.Ended() || heard.State == "":
		return seen
	case seen.State == Unknown:
		if now.Before(t.expires()) {
			return heard
		}
		seen.Reason = fmt.Sprintf("the hook %s said %s, and nothing shows it any more", heard.Rule, heard.State)
		return seen
	case seen.State == heard.State && heard.Since.Add(settle).Before(seen.Since):
		return seen // the hook was about another time
	case seen.State == heard.State:
		// The hook knows what for, the screen that it is still so.
		seen.Kind, seen.Reason = cmp.Or(heard.Kind, seen.Kind), cmp.Or(heard.Reason, seen.Reason)
		seen.Confidence = high
		return seen
	case seen.State == Waiting && seen.Source == FromScreen:
		return seen // a dialog that shows is not argued with
	case seen.State == Idle && cutShort(heard) && !heard.Since.Add(settle).Before(seen.Since) && now.Before(t.expires()):
		return heard
	case heard.Since.After(seen.Since) && now.Before(t.expires()):
		return heard
	}
	return seen
}

// cutShort reports whether a hook said that a turn ended by an error.
func cutShort(heard Status) bool {
	return heard.State == Failed || heard.State == Waiting && (heard.Kind == Login || heard.Kind == RateLimit)
}
