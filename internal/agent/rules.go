package agent

import (
	"fmt"
	"strings"
	"sync"

	"middleman/terminal"
	"middleman/terminal/sight"
)

// Evidence is what is known of a session at one moment.
type Evidence struct {
	// Ended is set if the program has ended. Code is its exit code then, and Gone
	// is set if that is not known.
	// Stopped is set if that was after somebody had asked for its end.
	Ended, Gone, Stopped bool
	Code                 int
	Signal               string // the signal that ended it, "" for none
	// Title is the terminal's title, and Screen the rows of its present screen,
	// the top one first. Scrollback is no evidence: what was true when it was
	// printed need not be true now.
	Title  string
	Screen []string
}

// rule says what a screen or a title means. All that is set must hold.
type rule struct {
	name  string
	state State
	kind  Kind   // of Waiting
	title string // a regular expression for the title
	// screen are regular expressions: each must match one of the last rows of
	// the screen that are not blank. None of these may match one of without.
	// rows is how many there are.
	screen, without []string
	rows            int
}

// rules are those of a profile's program, the first that holds decides. A dialog
// comes before a title: agents leave the title of their work while they ask.
//
// What agy, copilot, cursor and opencode show is from the rules of herdrdev/herdr, in
// src/detect/manifests: antigravity.toml of 2026-08-20, github-copilot.toml and
// cursor.toml of 2026-08-12, opencode.toml of 2026-08-27. They look at the whole screen,
// these at its last rows alone, where output that quotes a dialog seldom is. Of none of
// them a sign of an idle prompt is known. How aider asks is from confirm_ask in its
// aider/io.py (Aider-AI/aider, 0045641): the question is the last row.
var rules = map[string][]rule{
	"claude": {
		{
			name: "permission dialog", state: Waiting, kind: Permission, rows: 12,
			screen:  []string{`(?i)do you want|would you like`, `^[\s│]*❯ *1\. `, `^[\s│]*2\. `},
			without: []string{`^[\s│]*[>❯] *[│]?$`, `^[\s│]*> \S`},
		},
		{name: "login", state: Waiting, kind: Login, rows: 20, screen: []string{`(?i)select login method|paste code here if prompted`}},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}] `},
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`\(.*\besc to interrupt\b`}},
		{name: "star in the title", state: Idle, title: `^\x{2733} `},
	},
	"codex": {
		{name: "action required", state: Waiting, kind: Question, title: `Action Required`},
		{
			name: "approval dialog", state: Waiting, kind: Permission, rows: 12,
			screen: []string{`(?i)would you like to run|allow command|would you like to make`, `^[\s▌│]*[›❯>] *1\. `},
		},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}]( |$)`},
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`\(.*\besc to interrupt\b`}},
	},
	"gemini": {
		{name: "confirmation", state: Waiting, kind: Permission, rows: 14, screen: []string{`(?i)apply this change\?|allow execution|do you want to proceed\?`, `^[\s│]*● *1\. `}},
		{name: "how to cancel", state: Working, rows: 10, screen: []string{`\(esc to cancel\b`}},
	},
	"agy": {
		{
			name: "permission dialog", state: Waiting, kind: Permission, rows: 14,
			screen: []string{`(?i)requesting permission for:`, `(?i)do you want to proceed\?|tab amend`},
		},
		{name: "spinner", state: Working, rows: 8, screen: []string{`^\s*[\x{2801}-\x{28FF}]+ +\pL+ing\b`}},
	},
	"copilot": {
		{
			name: "selection", state: Waiting, kind: Question, rows: 8,
			screen: []string{`(?i)\benter (to (select|confirm|submit)|accept)\b`, `(?i)\besc (to )?cancel\b`},
		},
		{name: "how to cancel", state: Working, rows: 6, screen: []string{`(?i)\besc (again to |to )?(cancel|interrupt)\b`}},
	},
	"cursor": {
		{
			name: "permission dialog", state: Waiting, kind: Permission, rows: 12,
			screen: []string{`(?i)run this command\?|write to this file\?`, `(?i)\(y\)|skip \(esc or n\)`},
		},
		{name: "how to stop", state: Working, rows: 6, screen: []string{`(?i)\bctrl\+c to stop\b`}},
		{name: "spinner", state: Working, rows: 8, screen: []string{`^\s*([⬡⬢]|[\x{2801}-\x{28FF}]+) +\pL+ing\b`}},
	},
	"opencode": {
		{name: "permission dialog", state: Waiting, kind: Permission, rows: 14, screen: []string{`△ Permission required`}},
		{
			name: "selection", state: Waiting, kind: Question, rows: 6,
			screen: []string{`(?i)\besc dismiss\b`, `(?i)\benter (confirm|submit|toggle)\b`, `↑↓ select|⇆ tab`},
		},
		{name: "how to interrupt", state: Working, rows: 4, screen: []string{`(?i)\b(esc|ctrl\+c) (again to |to )?interrupt\b`}},
	},
	"aider": {
		{name: "confirmation", state: Waiting, kind: Permission, rows: 1, screen: []string{`\(Y\)es/\(N\)o.* \[(Yes|No)\]:`}},
	},
	"amp": {
		{name: "confirmation in the title", state: Waiting, kind: Permission, title: `confirmation needed`},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}]`},
	},
}

// matcher is a rule whose expressions are compiled.
type matcher struct {
	rule
	sight.Matcher
}

// matchers has the rules compiled, at the first use: a command line needs none.
var matchers = sync.OnceValue(func() map[string][]matcher {
	all := map[string][]matcher{}
	for program, list := range rules {
		for _, r := range list {
			m, err := sight.Compile(r.sight())
			if err != nil {
				panic(fmt.Sprintf("rule %q of %s: %v", r.name, program, err))
			}
			all[program] = append(all[program], matcher{rule: r, Matcher: m})
		}
	}
	return all
})

// sight returns the rule's screen.
func (r rule) sight() terminal.Sight {
	return terminal.Sight{Title: r.title, Screen: r.screen, Without: r.without, Rows: r.rows}
}

// Judge tells what the evidence shows of the profile's program. Without a rule
// that holds that is Unknown. Since is not set.
func (p Profile) Judge(e Evidence) Status {
	end := func(state State, reason string) Status {
		return Status{State: state, Source: FromExit, Rule: "exit", Reason: reason, Confidence: high}
	}
	switch {
	case e.Ended && e.Gone:
		return Status{State: Lost, Source: FromExit, Rule: "no exit", Reason: "it is gone, and its exit is not known", Confidence: high}
	case e.Ended && e.Stopped:
		return end(Stopped, e.failure())
	case e.Ended && e.failure() != "":
		return end(Failed, e.failure())
	case e.Ended:
		return end(Done, "")
	}
	for _, m := range matchers()[p.RulesOf()] {
		switch {
		case !m.Holds(e.Title, e.Screen):
		case m.ByTitle():
			return Status{State: m.state, Kind: m.kind, Source: FromTitle, Rule: m.name, Confidence: medium}
		default:
			status := Status{State: m.state, Kind: m.kind, Source: FromScreen, Rule: m.name, Confidence: high}
			if m.state == Waiting {
				status.Reason = m.question(e)
			}
			return status
		}
	}
	return Status{State: Unknown, Reason: p.silence()}
}

// failure says how a program ended, "" if it has exited with 0.
func (e Evidence) failure() string {
	switch {
	case e.Signal != "":
		return "ended by " + e.Signal
	case e.Code != 0:
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return ""
}

// silence says why nothing is known of a program that runs.
func (p Profile) silence() string {
	switch {
	case p.Name == "":
		return "no profile starts this program, so there are no rules for it"
	case !p.HasRules():
		return "profile " + p.Name + " has no rules"
	}
	return "no rule of profile " + p.Name + " matches"
}

// RulesOf names the built-in profile whose rules the profile has.
func (p Profile) RulesOf() string {
	if p.Like != "" {
		return p.Like
	}
	return p.Name
}

// HasRules reports whether anything is known of how the program looks.
func (p Profile) HasRules() bool { return len(rules[p.RulesOf()]) > 0 }

// question returns what a dialog asks: the row of the screen that the first of the
// rule's expressions matches, on one line.
func (m matcher) question(e Evidence) string {
	return oneLine(strings.Trim(m.First(e.Screen), " \t│┃|▌"))
}
