package agent

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// moment is something that a tracker is told, at seconds after the start.
type moment struct {
	at       float64
	see      *Status // what the screen shows
	composer bool    // and the line for a prompt
	hear     *Hook   // what a hook says
	sent     float64 // when the hook began, if not at
	want     State
	kind     Kind
	source   string
	decides  bool   // only time has passed
	titled   State  // what the title says, if it does not decide
	work     string // the row that shows work
	lives    bool   // the server has not been restarted before it
}

func seen(s State, source string) *Status {
	return &Status{State: s, Source: source, Rule: "r"}
}

func asks() *Status {
	return &Status{State: Waiting, Kind: Permission, Source: FromScreen, Rule: "dialog"}
}

func heard(s State, k Kind) *Hook { return &Hook{State: s, Kind: k, Event: "Event"} }

// sentAt returns the hook as one that began at a time.
func (h Hook) sentAt(at time.Time) *Hook {
	h.At = at
	return &h
}

// of returns the hook as one of a turn, about a call of a tool.
func (h Hook) of(turn, tool, call string) *Hook {
	h.Turn, h.Tool, h.Call = turn, tool, call
	return &h
}

// begins returns the hook as the first of a turn.
func (h Hook) begins(turn string) *Hook {
	h.Turn, h.Begins = turn, true
	return &h
}

// What screen and hooks say one after the other, and what is made of it.
func TestTracker(t *testing.T) {
	for name, moments := range map[string][]moment{
		"screen alone": {
			{at: 0, see: seen(Unknown, ""), want: Unknown},
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 2, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
		},
		"hooks alone": {
			{at: 0, see: seen(Unknown, ""), want: Unknown},
			{at: 1, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 2, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 3, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 4, hear: heard(Idle, ""), want: Idle, source: FromHook},
		},
		"a hook of work that nothing shows": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 60, see: seen(Unknown, ""), want: Working, source: FromHook}, // with output
			{at: 179, decides: true, want: Working, source: FromHook},
			{at: 181, decides: true, want: Unknown},
		},
		"esc in the middle of work, of which no hook tells": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 0.5, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 100, decides: true, want: Idle, source: FromTitle},
		},
		"a screen that is drawn long after the end of a turn": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 0.5, see: seen(Working, FromScreen), want: Working, source: FromScreen},
			{at: 5, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 7.1, decides: true, want: Working, source: FromScreen},
			{at: 8, see: seen(Unknown, ""), want: Idle, source: FromHook},
			{at: 60, decides: true, want: Idle, source: FromHook},
		},
		"work after the end of a turn, of which no hook tells": {
			{at: 0, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 5, see: seen(Working, FromScreen), want: Working, source: FromScreen},
			{at: 8, see: seen(Unknown, ""), want: Unknown},
		},
		"esc, after which nothing is known": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 0.5, see: seen(Working, FromScreen), want: Working, source: FromScreen},
			{at: 5, see: seen(Unknown, ""), want: Working, source: FromHook}, // between two pictures
			{at: 5.2, see: seen(Working, FromScreen), want: Working, source: FromScreen},
			{at: 8, decides: true, want: Working, source: FromScreen},
			{at: 9, see: seen(Unknown, ""), want: Working, source: FromHook},
			{at: 10, see: seen(Unknown, ""), want: Working, source: FromHook},
			{at: 11.1, decides: true, want: Unknown},
			{at: 12, hear: heard(Working, ""), want: Working, source: FromHook}, // the next prompt
			{at: 60, decides: true, want: Working, source: FromHook},
		},
		"a late hook of work after esc": {
			{at: 0.5, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 6, hear: heard(Working, ""), sent: 4.5, want: Idle, source: FromTitle},
		},
		"a turn that ended by an error": {
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, hear: heard(Waiting, RateLimit), want: Waiting, kind: RateLimit, source: FromHook},
			{at: 5.1, see: seen(Idle, FromTitle), want: Waiting, kind: RateLimit, source: FromHook}, // the turn is over, and why
			{at: 60, decides: true, want: Waiting, kind: RateLimit, source: FromHook},
			{at: 70, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 80, see: seen(Idle, FromTitle), want: Idle, source: FromTitle}, // another turn
			{at: 90, hear: heard(Failed, ""), want: Failed, source: FromHook},
			{at: 95, decides: true, want: Failed, source: FromHook},
			{at: 96, hear: heard(Working, ""), want: Working, source: FromHook},
		},
		"the next prompt": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 5, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 5.3, see: seen(Working, FromTitle), want: Working, source: FromTitle},
		},
		"a hook of work that the screen does not follow": {
			{at: 0, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 5, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 7.1, decides: true, want: Idle, source: FromTitle},
		},
		"a title that is always the same": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle}, // nothing was asked of it yet
			{at: 5, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 7.1, decides: true, want: Working, source: FromHook},
			{at: 60, see: seen(Idle, FromTitle), composer: true, want: Working, source: FromHook}, // with output
			{at: 181, decides: true, want: Unknown},
			{at: 190, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 191, see: seen(Idle, FromTitle), want: Idle, source: FromHook},
		},
		"a title that is always the same, without hooks": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 2, see: seen(Working, FromScreen), titled: Idle, want: Working, source: FromScreen},
			{at: 9, see: seen(Idle, FromTitle), want: Unknown},
		},
		"a title that follows its screen late": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 2, see: seen(Working, FromScreen), titled: Idle, want: Working, source: FromScreen},
			{at: 2.1, see: seen(Working, FromScreen), titled: Working, want: Working, source: FromScreen},
			{at: 9, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
		},
		"progress, and a program that died with it": {
			{at: 0, see: seen(Unknown, ""), want: Unknown},
			{at: 1, see: seen(Working, FromProgress), want: Working, source: FromProgress},
			{at: 90, see: seen(Working, FromProgress), want: Working, source: FromProgress},
			{at: 209, decides: true, want: Working, source: FromProgress},
			{at: 211, decides: true, want: Unknown},
			{at: 220, see: seen(Working, FromProgress), want: Working, source: FromProgress}, // it prints again
		},
		"progress that ends while a tool runs": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 1, see: seen(Working, FromProgress), want: Working, source: FromProgress},
			{at: 2, see: seen(Unknown, ""), want: Working, source: FromHook},
			{at: 9, decides: true, want: Working, source: FromHook},
		},
		"progress, and a title that is always the same": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 2, see: seen(Working, FromProgress), titled: Idle, want: Working, source: FromProgress},
			{at: 9, see: seen(Idle, FromTitle), want: Unknown},
		},
		"a title of work that was left behind": {
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 9, decides: true, want: Idle, source: FromHook},
			{at: 20, see: seen(Working, FromTitle), composer: true, want: Idle, source: FromHook},
			{at: 300, decides: true, want: Idle, source: FromHook},
		},
		"a title of work, and a program that died with it": {
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 120, decides: true, want: Working, source: FromTitle},
			{at: 122, decides: true, want: Unknown},
		},
		"progress that was left behind": {
			{at: 1, see: seen(Working, FromProgress), want: Working, source: FromProgress},
			{at: 5, hear: heard(Waiting, RateLimit), want: Waiting, kind: RateLimit, source: FromHook},
			{at: 20, see: seen(Working, FromProgress), want: Waiting, kind: RateLimit, source: FromHook},
		},
		"a text that looks like work, at the end of a turn": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 1, see: seen(Working, FromScreen), work: "✻ Brewing… (8s · esc to interrupt)", want: Working, source: FromScreen},
			{at: 2, see: seen(Working, FromScreen), work: "✻ Brewing… (9s · esc to interrupt)", want: Working, source: FromScreen},
			{at: 3, see: seen(Working, FromScreen), work: "✻ Quoted… (1s · esc to interrupt)", want: Working, source: FromScreen},
			{at: 3.1, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 9, see: seen(Working, FromScreen), work: "✻ Quoted… (1s · esc to interrupt)", want: Idle, source: FromHook}, // its user types
			{at: 100, decides: true, want: Idle, source: FromHook},
		},
		"work that goes on after a hook said that the turn is over": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 1, see: seen(Working, FromScreen), work: "✻ Brewing… (8s · esc to interrupt)", want: Working, source: FromScreen},
			{at: 2, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 2.5, see: seen(Working, FromScreen), work: "✻ Brewing… (9s · esc to interrupt)", want: Idle, source: FromHook},
			{at: 4.1, decides: true, want: Working, source: FromScreen},
		},
		"a tool's hook that comes after the end of its turn": {
			{at: 1, hear: heard(Working, "").begins("1"), want: Working, source: FromHook},
			{at: 5, hear: heard(Idle, "").of("1", "", ""), want: Idle, source: FromHook},
			{at: 5.2, hear: heard(Working, "").of("1", "A", "Bash: make"), want: Idle, source: FromHook},
			{at: 5.3, hear: heard(Working, "").begins("2"), want: Working, source: FromHook}, // the next prompt, at once
			{at: 6, hear: heard(Idle, "").of("2", "", ""), want: Idle, source: FromHook},
			{at: 20, hear: heard(Working, "").of("2", "B", "Bash: ls"), want: Working, source: FromHook}, // it goes on
		},
		"a permission whose dialog is not known": {
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 60, see: seen(Idle, FromTitle), want: Waiting, kind: Permission, source: FromHook}, // a title proves nothing
			{at: 61, see: seen(Working, FromTitle), want: Waiting, kind: Permission, source: FromHook},
			{at: 62, see: seen(Working, FromScreen), want: Waiting, kind: Permission, source: FromHook}, // nor does what stands above it
			{at: 63, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
		},
		"a question, and a star in the title": {
			{at: 1, see: seen(Working, FromTitle), composer: true, want: Working, source: FromTitle},
			{at: 5, hear: heard(Waiting, Question), want: Waiting, kind: Question, source: FromHook},
			{at: 5.1, see: seen(Idle, FromTitle), want: Waiting, kind: Question, source: FromHook},
			{at: 600, decides: true, want: Waiting, kind: Question, source: FromHook},
			{at: 3606, decides: true, want: Unknown}, // the ceiling; the title alone proves nothing even then
			{at: 3607, see: seen(Idle, FromTitle), composer: true, want: Idle, source: FromTitle},
		},
		"a permission before its dialog is drawn": {
			{at: 1, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
			{at: 5, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 5.1, see: seen(Working, FromScreen), composer: true, want: Waiting, kind: Permission, source: FromHook},
			{at: 5.2, see: asks(), want: Waiting, kind: Permission, source: FromScreen},
			{at: 5.9, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
		},
		"a permission that was given before a dialog": {
			{at: 1, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
			{at: 5, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 7.1, decides: true, want: Working, source: FromScreen},
		},
		"a permission that the screen has contradicted": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 1, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 4, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
			{at: 8, see: seen(Unknown, ""), composer: true, want: Unknown},
			{at: 9, see: seen(Unknown, ""), want: Unknown},
			{at: 10, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
			{at: 14, see: seen(Unknown, ""), want: Unknown},
			{at: 40, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook}, // another one
		},
		"a permission whose dialog shows": {
			{at: 1, see: seen(Working, FromTitle), want: Working, source: FromTitle},
			{at: 5, hear: heard(Waiting, Permission), want: Waiting, kind: Permission, source: FromHook},
			{at: 5.2, see: asks(), want: Waiting, kind: Permission, source: FromScreen},
			{at: 29, see: seen(Working, FromTitle), want: Waiting, kind: Permission, source: FromHook},
			{at: 30, see: seen(Working, FromTitle), composer: true, want: Working, source: FromTitle},  // allowed: it runs for long
			{at: 140, see: seen(Working, FromTitle), composer: true, want: Working, source: FromTitle}, // with output
			{at: 259, decides: true, want: Working, source: FromTitle},
			{at: 261, decides: true, want: Unknown},
		},
		"work that ended in a dialog": {
			{at: 0, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 5, see: asks(), want: Waiting, kind: Permission, source: FromScreen},
			{at: 9, see: seen(Unknown, ""), want: Unknown}, // Esc, of which no hook tells
		},
		"a dialog against a hook of work": {
			{at: 1, see: asks(), want: Waiting, kind: Permission, source: FromScreen},
			{at: 2, hear: heard(Working, ""), want: Waiting, kind: Permission, source: FromScreen},
		},
		"hooks out of order, and twice": {
			{at: 1, hear: heard(Working, ""), want: Working, source: FromHook},
			{at: 3, hear: heard(Idle, ""), want: Idle, source: FromHook},
			{at: 4, hear: heard(Working, ""), sent: 2, want: Idle, source: FromHook},
			{at: 5, hear: heard(Working, ""), sent: 3, want: Idle, source: FromHook},
		},
		"a hook from the future": {
			{at: 1, hear: heard(Working, ""), sent: 1000, want: Working, source: FromHook},
			{at: 2, hear: heard(Idle, ""), want: Idle, source: FromHook},
		},
		"work that goes on after the turn": {
			{at: 1, see: seen(Idle, FromTitle), want: Idle, source: FromTitle},
			{at: 2, hear: heard(Idle, Background), want: Idle, kind: Background, source: FromTitle},
		},
		"a tool that ends while another one waits": {
			{at: 1, hear: heard(Working, "").begins("p1"), want: Working, source: FromHook},
			{at: 2, hear: heard(Waiting, Permission).of("p1", "B", "Bash: make"), want: Waiting, kind: Permission, source: FromHook},
			{at: 3, hear: heard(Working, "").of("p1", "A", "Read: a"), want: Waiting, kind: Permission, source: FromHook},
			{at: 4, hear: heard(Working, "").of("p1", "B", "Bash: make"), want: Working, source: FromHook},
		},
		"a tool without an id": {
			{at: 2, hear: heard(Waiting, Permission).of("", "", "Bash: make"), want: Waiting, kind: Permission, source: FromHook},
			{at: 3, hear: heard(Working, "").of("", "A", "Read: a"), want: Waiting, kind: Permission, source: FromHook},
			{at: 4, hear: heard(Working, "").of("", "B", "Bash: make"), want: Working, source: FromHook},
		},
		"another tool, once the screen has contradicted": {
			{at: 2, hear: heard(Waiting, Permission).of("", "B", ""), want: Waiting, kind: Permission, source: FromHook},
			{at: 5, see: seen(Unknown, ""), composer: true, want: Unknown},
			{at: 6, hear: heard(Working, "").of("", "C", ""), want: Working, source: FromHook},
		},
		"the end of an older turn": {
			{at: 1, hear: heard(Working, "").begins("1"), want: Working, source: FromHook},
			{at: 2, hear: heard(Working, "").begins("2"), want: Working, source: FromHook},
			{at: 3, hear: heard(Idle, "").of("1", "", ""), want: Working, source: FromHook},
			{at: 4, hear: heard(Idle, "").of("2", "", ""), want: Idle, source: FromHook},
		},
		"a turn that nobody saw begin": {
			{at: 1, hear: heard(Working, "").begins("1"), want: Working, source: FromHook},
			{at: 2, hear: heard(Idle, "").of("9", "", ""), want: Idle, source: FromHook},
		},
		"a hook that waits for the answer": {
			{at: 1, see: seen(Working, FromScreen), composer: true, want: Working, source: FromScreen},
			{at: 2, hear: &Hook{State: Waiting, Kind: Permission, Event: "Event", Held: true}, lives: true, want: Waiting, kind: Permission, source: FromHook},
			{at: 60, decides: true, lives: true, want: Waiting, kind: Permission, source: FromHook},
			{at: 61, see: seen(Working, FromScreen), composer: true, lives: true, want: Waiting, kind: Permission, source: FromHook},
			{at: 62, hear: heard(Working, ""), want: Working, source: FromScreen},
		},
		"killed in a dialog": {
			{at: 1, see: asks(), want: Waiting, kind: Permission, source: FromScreen},
			{at: 2, see: seen(Failed, FromExit), want: Failed, source: FromExit},
			{at: 3, hear: heard(Working, ""), want: Failed, source: FromExit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			clock := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
			var tr Tracker
			for _, m := range moments {
				data, err := json.Marshal(tr) // the server restarts
				if err != nil {
					t.Fatal(err)
				}
				if !m.lives {
					tr = Tracker{}
					if err := json.Unmarshal(data, &tr); err != nil {
						t.Fatal(err)
					}
				}
				switch {
				case m.see != nil:
					v := View{Status: *m.see, Composer: m.composer, Titled: m.titled, Work: m.work}
					if m.see.Source == FromTitle {
						v.Titled = m.see.State
					}
					tr.See(v, true, clock(m.at))
				case m.hear != nil:
					sent := m.sent
					if sent == 0 {
						sent = m.at
					}
					tr.Hear(*m.hear.sentAt(clock(sent)), clock(m.at))
				default:
					tr.Decide(clock(m.at))
				}
				if tr.Now.State != m.want || tr.Now.Kind != m.kind || tr.Now.Source != m.source {
					t.Fatalf("at %g s: %+v, want %s %s from %q", m.at, tr.Now, m.want, m.kind, m.source)
				}
			}
		})
	}
}

// A status that stays is no change: it is neither recorded nor told again.
func TestTrackerThatStays(t *testing.T) {
	now := time.Now()
	var tr Tracker
	tr.Hear(*heard(Waiting, Question).sentAt(now), now)
	tr.See(View{Status: *seen(Unknown, "")}, true, now.Add(silentWait))
	for i := range 3 {
		now := now.Add(silentWait + time.Duration(i+1)*time.Minute)
		if tr.See(View{Status: *seen(Unknown, "")}, true, now) || tr.Decide(now) {
			t.Errorf("it has changed: %+v", tr.Now)
		}
	}
}

// A tracker that was kept goes on as the one that was: an agent whose hook waits is
// waiting, though its composer shows.
func TestTrackerIsKept(t *testing.T) {
	start := time.Now().UTC()
	var tr Tracker
	tr.See(View{Status: *seen(Unknown, ""), Composer: true}, true, start)
	h := heard(Waiting, Permission)
	h.Held = true
	tr.Hear(*h.sentAt(start.Add(time.Second)), start.Add(time.Second))
	raw, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var kept Tracker
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Minute)
	if kept.See(View{Status: *seen(Unknown, ""), Composer: true}, true, later) || kept.Now.State != Waiting {
		t.Errorf("%+v", kept.Now)
	}
	kept.Held = false
	if kept.Decide(later); kept.Now.State == Waiting {
		t.Errorf("its hook is gone, its composer shows: %+v", kept.Now)
	}
}

// Whatever comes, in any order: a dialog that shows is waiting, an end is final,
// what is not known is never idle, and after Next nothing more changes.
// The end of another conversation's turn is not the end of this one's; its next prompt is.
func TestTrackerHearsItsConversation(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tell := func(tracker *Tracker, event string, state State, conversation string) {
		now = now.Add(time.Second)
		tracker.Hear(Hook{Agent: "claude", Event: event, State: state, Conversation: conversation, At: now}, now)
	}
	var tracker Tracker
	tell(&tracker, "UserPromptSubmit", Working, "a")
	stop := Hook{State: Idle, Conversation: "b"}
	if tell(&tracker, "Stop", Idle, "b"); tracker.Now.State != Working || !tracker.Foreign(stop) {
		t.Errorf("after the end of another one: %+v", tracker.Now)
	}
	if tell(&tracker, "Stop", Idle, "a"); tracker.Now.State != Idle {
		t.Errorf("after its own end: %+v", tracker.Now)
	}
	tell(&tracker, "UserPromptSubmit", Working, "b") // after /clear
	if tell(&tracker, "Stop", Idle, "b"); tracker.Now.State != Idle || tracker.Foreign(stop) {
		t.Errorf("after the end of the next one: %+v", tracker.Now)
	}
}

func TestTrackerHoldsItsRules(t *testing.T) {
	screens := []View{{Status: *seen(Unknown, "")}, {Status: *seen(Working, FromTitle)}, {Status: *seen(Idle, FromTitle)}, {Status: *asks()}, {Status: *seen(Working, FromScreen), Composer: true}, {Status: *seen(Unknown, ""), Composer: true}, {Status: *seen(Working, FromProgress), Titled: Idle}, {Status: *seen(Idle, FromTitle), Titled: Idle}}
	hooks := []*Hook{heard(Working, ""), heard(Waiting, Question), heard(Idle, ""), heard(Idle, Background)}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		now := time.Now()
		var tr Tracker
		for range 60 {
			now = now.Add(time.Duration(r.IntN(100000)) * time.Millisecond)
			switch r.IntN(3) {
			case 0:
				tr.See(screens[r.IntN(len(screens))], r.IntN(2) == 0, now)
			case 1:
				tr.Hear(*hooks[r.IntN(len(hooks))].sentAt(now.Add(-time.Duration(r.IntN(10000)) * time.Millisecond)), now)
			default:
				tr.Decide(now)
			}
			switch {
			case tr.Seen.State == Waiting && tr.Now.State != Waiting:
				t.Fatalf("seed %d: a dialog shows: %+v", seed, tr)
			case tr.Over == "" && tr.Heard.Asks() && tr.Now.State != Waiting:
				t.Fatalf("seed %d: it waits no more, and why: %+v", seed, tr)
			case tr.Over == contradicted && tr.Heard.Asks() && tr.Now.Source == FromHook:
				t.Fatalf("seed %d: a contradicted hook is believed again: %+v", seed, tr)
			case tr.Now.State == Idle && tr.Seen.State != Idle && tr.Heard.State != Idle:
				t.Fatalf("seed %d: idle by guess: %+v", seed, tr)
			case tr.Now.State == Unknown && tr.Now.Reason == "" && tr.Heard.State != "":
				t.Fatalf("seed %d: unknown without a reason: %+v", seed, tr)
			}
			if next := tr.Next(); !next.IsZero() {
				silent := next.Equal(tr.silence())
				tr.Decide(next)
				switch {
				case silent && tr.Seen.Source == FromProgress:
					t.Fatalf("seed %d: still by a progress that has ended: %+v", seed, tr)
				case !silent && tr.Now.Source == FromHook:
					t.Fatalf("seed %d: still by the hook when that was to end: %+v", seed, tr)
				}
				now = next
			}
		}
	}
}

// What OpenCode reports of a turn, one event after the other: each request waits until it
// is answered, and an error says how a turn ended, whatever follows it.
func TestTrackerHearsOpenCode(t *testing.T) {
	const (
		busy   = `{"type":"session.status","properties":{"sessionID":"s","status":{"type":"busy"}}}`
		idle   = `{"type":"session.status","properties":{"sessionID":"s","status":{"type":"idle"}}}`
		over   = `{"type":"session.idle","properties":{"sessionID":"s"}}`
		failed = `{"type":"session.error","properties":{"sessionID":"s","error":{"name":"APIError","data":{"message":"500"}}}}`
		login  = `{"type":"session.error","properties":{"sessionID":"s","error":{"name":"ProviderAuthError"}}}`
		esc    = `{"type":"session.error","properties":{"sessionID":"s","error":{"name":"MessageAbortedError"}}}`
		retry  = `{"type":"session.status","properties":{"sessionID":"s","status":{"type":"retry","message":"Overloaded"}}}`
		// b is asked by a subagent, which has a session of its own.
		asksA    = `{"type":"permission.asked","properties":{"id":"a","sessionID":"s","permission":"bash","patterns":["one"]}}`
		asksB    = `{"type":"permission.asked","properties":{"id":"b","sessionID":"sub","permission":"bash","patterns":["two"]}}`
		answersA = `{"type":"permission.replied","properties":{"requestID":"a","sessionID":"s"}}`
		answersB = `{"type":"permission.replied","properties":{"requestID":"b","sessionID":"sub"}}`
	)
	for name, tt := range map[string]struct {
		events []string
		want   string
	}{
		"an error":                      {[]string{busy, failed, idle, over}, "failed: the turn ended by an error: APIError: 500"},
		"a login":                       {[]string{busy, login, idle, over}, "waiting (login): ProviderAuthError"},
		"an error, and another turn":    {[]string{busy, failed, idle, busy, idle}, "idle"},
		"a limit, and its end":          {[]string{busy, retry, idle}, "idle"},
		"Esc":                           {[]string{busy, esc, idle, over}, "idle"},
		"the newest is answered":        {[]string{busy, asksA, asksB, answersB}, "waiting (permission): bash: one"},
		"the older one is answered":     {[]string{busy, asksA, asksB, answersA}, "waiting (permission): bash: two"},
		"work goes on while one waits":  {[]string{busy, asksB, busy}, "waiting (permission): bash: two"},
		"both are answered":             {[]string{busy, asksA, asksB, answersB, answersA}, "working"},
		"both are answered, in order":   {[]string{busy, asksA, asksB, answersA, answersB}, "working"},
		"asked again":                   {[]string{busy, asksA, answersA, asksA}, "waiting (permission): bash: one"},
		"the turn ends with a question": {[]string{busy, asksA, idle}, "idle"},
		"an error ends the questions":   {[]string{busy, asksA, failed, busy}, "working"},
	} {
		t.Run(name, func(t *testing.T) {
			var tracker Tracker
			conversation := ""
			for i, event := range tt.events {
				when := at.Add(time.Duration(i) * time.Millisecond)
				h, err := Decode("opencode", strings.NewReader(event), when)
				if err != nil {
					t.Fatal(err)
				}
				tracker.Hear(h, when)
				conversation = cmp.Or(h.Conversation, conversation)
			}
			got := tracker.Now.Text()
			if reason := tracker.Now.Reason; reason != "" {
				got += ": " + reason
			}
			if got != tt.want || conversation != "s" {
				t.Errorf("%s of conversation %s, want %s", got, conversation, tt.want)
			}
			// It is kept over a restart of the server.
			var kept Tracker
			text, err := json.Marshal(tracker)
			if err == nil {
				err = json.Unmarshal(text, &kept)
			}
			if err != nil || !slices.Equal(kept.Open, tracker.Open) {
				t.Errorf("kept: %+v, %v", kept.Open, err)
			}
		})
	}
}

// A shell's agents: the rules hold while the shell runs its program, and what was known of
// one is not believed of the next. A wrapper of which only hooks tell keeps its rules.
func TestTrackerOfShell(t *testing.T) {
	now := time.Now()
	var tr Tracker
	for i, step := range []struct {
		run     string
		changed bool
		rules   string
		state   State
	}{
		{"", false, "", ""},
		{"claude", true, "claude", Unknown},
		{"claude", false, "claude", Working},
		{"codex", true, "codex", Unknown},
		{"", true, "", ""},
		{"", false, "", ""},
	} {
		if i == 2 {
			tr.See(View{Status: *seen(Working, FromTitle)}, true, now)
		}
		if changed := tr.Run(step.run, now); changed != step.changed {
			t.Errorf("step %d, %q: changed %v", i, step.run, changed)
		}
		if tr.Rules != step.rules || tr.Now.State != step.state || tr.ByHand != (step.rules != "") {
			t.Errorf("step %d, %q: %+v", i, step.run, tr)
		}
	}
	hooked := Tracker{Rules: "claude", Now: Status{State: Idle}}
	if hooked.Run("", now) || hooked.Rules != "claude" {
		t.Errorf("what a hook has told is forgotten: %+v", hooked)
	}
	if !hooked.Run("claude", now) || hooked.Now.State != Idle {
		t.Errorf("what a hook has told is forgotten where the program is seen: %+v", hooked)
	}
	if !hooked.Run("", now) || hooked.Rules != "" {
		t.Errorf("a program that has ended is believed to run: %+v", hooked)
	}
}
