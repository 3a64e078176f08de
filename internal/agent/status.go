package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// State is what an agent does, as far as that can be told.
type State string

// The states of an agent.
const (
	Working State = "working"
	Waiting State = "waiting" // for the user: an answer, a permission, a login
	Idle    State = "idle"    // for the next prompt
	Done    State = "done"    // the program has exited with 0
	Failed  State = "failed"  // it has exited otherwise, or was killed
	Lost    State = "lost"    // it is gone, and nobody knows how
	Unknown State = "unknown" // nothing that is known of it matches: never a guess
)

// The sources of a Status.
const (
	FromExit   = "exit"
	FromTitle  = "title"
	FromScreen = "screen"
)

// Status is what an agent does, and why that is believed.
type Status struct {
	State  State
	Source string // FromExit, FromTitle or FromScreen; "" if State is Unknown
	Rule   string // the name of the rule that decided
	Reason string // one line for the user, "" for none
}

// Evidence is what is known of a session at one moment.
type Evidence struct {
	// Ended is set if the program has ended. Code is its exit code then, and Gone
	// is set if that is not known.
	Ended, Gone bool
	Code        int
	Signal      string // the signal that ended it, "" for none
	// Title is the terminal's title, and Screen the rows of its present screen,
	// the top one first. Scrollback is no evidence: what was true when it was
	// printed need not be true now.
	Title  string
	Screen []string
}

// rule says what a screen or a title means. All that is set must hold.
type rule struct {
	name   string
	state  State
	reason string
	title  string // a regular expression for the title
	// screen are regular expressions: each must match one of the last rows of
	// the screen that are not blank. None of these may match one of without.
	// rows is how many there are.
	screen, without []string
	rows            int
}

// rules are those of a profile's program, the first that holds decides. A dialog
// comes before a title: agents leave the title of their work while they ask.
var rules = map[string][]rule{
	"claude": {
		{
			name: "permission dialog", state: Waiting, reason: "asks for a permission", rows: 12,
			screen:  []string{`(?i)do you want|would you like`, `^[\s│]*❯ *1\. `, `^[\s│]*2\. `},
			without: []string{`^[\s│]*[>❯] *[│]?$`, `^[\s│]*> \S`},
		},
		{name: "login", state: Waiting, reason: "asks for a login", rows: 20, screen: []string{`(?i)select login method|paste code here if prompted`}},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}] `},
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`\(.*\besc to interrupt\b`}},
		{name: "star in the title", state: Idle, title: `^\x{2733} `},
	},
	"codex": {
		{name: "action required", state: Waiting, reason: "asks for an answer", title: `Action Required`},
		{
			name: "approval dialog", state: Waiting, reason: "asks for a permission", rows: 12,
			screen: []string{`(?i)would you like to run|allow command|would you like to make`, `^[\s▌│]*[›❯>] *1\. `},
		},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}]( |$)`},
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`\(.*\besc to interrupt\b`}},
	},
	"gemini": {
		{name: "confirmation", state: Waiting, reason: "asks for a permission", rows: 14, screen: []string{`(?i)apply this change\?|allow execution|do you want to proceed\?`, `^[\s│]*● *1\. `}},
		{name: "how to cancel", state: Working, rows: 10, screen: []string{`\(esc to cancel\b`}},
	},
	"amp": {
		{name: "confirmation in the title", state: Waiting, reason: "asks for a confirmation", title: `confirmation needed`},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}]`},
	},
}

// matcher is a rule whose expressions are compiled.
type matcher struct {
	rule
	title           *regexp.Regexp // nil for any
	screen, without []*regexp.Regexp
}

// matchers has the rules compiled, at the first use: a command line needs none.
var matchers = sync.OnceValue(func() map[string][]matcher {
	all := map[string][]matcher{}
	for program, list := range rules {
		for _, r := range list {
			m := matcher{rule: r, screen: compiled(r.screen), without: compiled(r.without)}
			if r.title != "" {
				m.title = regexp.MustCompile(r.title)
			}
			all[program] = append(all[program], m)
		}
	}
	return all
})

func compiled(list []string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(list))
	for i, text := range list {
		out[i] = regexp.MustCompile(text)
	}
	return out
}

// Judge tells what the profile's program does. Without a rule that holds that is
// Unknown.
func (p Profile) Judge(e Evidence) Status {
	switch {
	case e.Ended && e.Gone:
		return Status{State: Lost, Source: FromExit, Rule: "no exit", Reason: "it is gone, and its exit is not known"}
	case e.Ended && e.Signal != "":
		return Status{State: Failed, Source: FromExit, Rule: "exit", Reason: "ended by " + e.Signal}
	case e.Ended && e.Code != 0:
		return Status{State: Failed, Source: FromExit, Rule: "exit", Reason: fmt.Sprintf("exit code %d", e.Code)}
	case e.Ended:
		return Status{State: Done, Source: FromExit, Rule: "exit"}
	}
	for _, m := range matchers()[p.rulesOf()] {
		if m.holds(e) {
			source := FromScreen
			if len(m.screen) == 0 {
				source = FromTitle
			}
			return Status{State: m.state, Source: source, Rule: m.name, Reason: m.reason}
		}
	}
	return Status{State: Unknown}
}

// rulesOf names the program whose rules the profile has.
func (p Profile) rulesOf() string {
	if p.Like != "" {
		return p.Like
	}
	return p.Name
}

// HasRules reports whether anything is known of how the program looks.
func (p Profile) HasRules() bool { return len(rules[p.rulesOf()]) > 0 }

func (m matcher) holds(e Evidence) bool {
	if m.title != nil && !m.title.MatchString(e.Title) {
		return false
	}
	if len(m.screen) == 0 {
		return true
	}
	rows := last(e.Screen, m.rows)
	for _, want := range m.screen {
		if !slices.ContainsFunc(rows, want.MatchString) {
			return false
		}
	}
	for _, not := range m.without {
		if slices.ContainsFunc(rows, not.MatchString) {
			return false
		}
	}
	return true
}

// last returns the last n rows that are not blank, in their order.
func last(rows []string, n int) []string {
	var out []string
	for i := len(rows) - 1; i >= 0 && len(out) < n; i-- {
		if row := strings.TrimRight(rows[i], " "); row != "" {
			out = append(out, row)
		}
	}
	slices.Reverse(out)
	return out
}
