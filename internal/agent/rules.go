package agent

import (
	"fmt"
	"slices"
	"sync"

	"middleman/terminal"
	"middleman/terminal/sight"
	"middleman/terminal/vt"
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
	// Progress is what the program says of its progress now.
	Progress vt.Progress
}

// rule says what a screen or a title means. All that is set must hold.
type rule struct {
	name  string
	state State
	kind  Kind   // of Waiting
	title string // a regular expression for the title
	// progress is set for a rule that holds while the program reports progress
	// (OSC 9;4). That it reports none says nothing: Claude Code ends its progress
	// while a tool runs (anthropics/claude-code#55111).
	progress bool
	// screen are regular expressions: each must match one of the last rows that are
	// not blank, or a line that is wrapped to them. A dialog is looked for where no
	// composer shows below it, work and the end of a turn in what was printed last.
	screen []string
	rows   int // how many
}

// Parts of the rules: the option of a dialog that is selected, whichever it is, and one
// that is not.
const (
	selected   = `^[\s│┃▌]*[❯›●>] *\d+\. `
	unselected = `^[\s│┃▌]*\d+\. `
)

// Parts of Claude Code's dialogs: the first option of one that asks for a permission, and
// an option that its questions (AskUserQuestion) have besides their own.
const (
	claudeYes   = `^[\s│]*[❯›>]? *1\. Yes\b`
	claudeOther = `^[\s│]*[❯›>]? *(\d+\. )?(Type something|Chat about this)\.?\s*$`
)

// selection is a dialog of which no more is known than its options.
var selection = rule{name: "selection", state: Waiting, kind: Question, rows: 24, screen: []string{selected, unselected}}

// rules are those of a profile's program. Those of titles that ask come first, then those
// of the screen, then those of other titles and of progress; of these the first that holds
// decides. A dialog comes before a title of work: agents leave that while they ask, and a
// progress may stay as well.
//
// What agy, copilot, cursor and opencode show is from the rules of herdrdev/herdr, in
// src/detect/manifests: antigravity.toml of 2026-08-20, github-copilot.toml and
// cursor.toml of 2026-08-12, opencode.toml of 2026-08-27. They look at the whole screen,
// these at its last rows alone, where output that quotes a dialog seldom is. Of none of
// them a sign of an idle prompt is known. How aider asks is from confirm_ask in its
// aider/io.py (Aider-AI/aider, 0045641): the question is the last row. The rows of an
// interrupt are Claude Code's of 2.1 and Codex's of its tui (chatwidget). Those of a usage
// limit are as reported for Claude Code 2.1.3 to 2.1.143 (anthropics/claude-code#18190,
// #59637) and Codex 0.39 to 0.155 (openai/codex#4095, #16847, #47047).
var rules = map[string][]rule{
	"claude": {
		{name: "question", state: Waiting, kind: Question, rows: 24, screen: []string{`\?\s*$`, claudeOther, selected, unselected}},
		{name: "permission dialog", state: Waiting, kind: Permission, rows: 24, screen: []string{`(?i)do you want|would you like`, claudeYes, selected, unselected}},
		{name: "login", state: Waiting, kind: Login, rows: 20, screen: []string{`(?i)select login method|paste code here if prompted`}},
		selection,
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`^[*·✢✳✶✻✽] .*(\(.*\besc to interrupt\b|… \(\d+[smh]\b)|^\s*[⏸⏵].*\besc to interrupt\b`}},
		{name: "interrupted", state: Idle, rows: 1, screen: []string{`^\s*⎿\s+Interrupted\b`}},
		{name: "usage limit", state: Waiting, kind: RateLimit, rows: 3, screen: []string{`^\s*[⎿●] +You['’]ve hit your (\w+ )?limit · resets\b`}},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}\x{25D0}-\x{25D3}] `}, // half circles since 2.1.228
		{name: "progress", state: Working, progress: true},
		{name: "star in the title", state: Idle, title: `^\x{2733} `},
	},
	"codex": {
		{name: "action required", state: Waiting, kind: Question, title: `Action Required`},
		{name: "approval dialog", state: Waiting, kind: Permission, rows: 24, screen: []string{`(?i)would you like to|allow command`, selected, unselected}},
		selection,
		{name: "how to interrupt", state: Working, rows: 8, screen: []string{`^[•◦] [^•(]*\([\dhms ]*• esc to interrupt\b`}},
		{name: "interrupted", state: Idle, rows: 3, screen: []string{`^■ Conversation interrupted\b`}},
		{name: "usage limit", state: Waiting, kind: RateLimit, rows: 4, screen: []string{`^■ (.*: )?You['’]ve hit your usage limit\b`}},
		{name: "spinner in the title", state: Working, title: `^[\x{2801}-\x{28FF}]( |$)`},
	},
	"gemini": {
		{name: "confirmation", state: Waiting, kind: Permission, rows: 24, screen: []string{`(?i)apply this change\?|allow execution|do you want to proceed\?`, selected, unselected}},
		selection,
		{name: "how to cancel", state: Working, rows: 10, screen: []string{`^ ?[\x{2801}-\x{28FF}] .*\(esc to cancel\b`}},
	},
	"agy": {
		{
			name: "permission dialog", state: Waiting, kind: Permission, rows: 20,
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
		{name: "progress", state: Working, progress: true}, // github/copilot-cli#4352, of 1.0
	},
	"cursor": {
		{
			name: "permission dialog", state: Waiting, kind: Permission, rows: 16,
			screen: []string{`(?i)run this command\?|write to this file\?`, `(?i)\(y\)|skip \(esc or n\)`},
		},
		{name: "how to stop", state: Working, rows: 6, screen: []string{`(?i)\bctrl\+c to stop\b`}},
		{name: "spinner", state: Working, rows: 8, screen: []string{`^\s*([⬡⬢]|[\x{2801}-\x{28FF}]+) +\pL+ing\b`}},
	},
	"opencode": {
		{name: "permission dialog", state: Waiting, kind: Permission, rows: 20, screen: []string{`△ Permission required`}},
		{
			name: "selection", state: Waiting, kind: Question, rows: 6,
			screen: []string{`(?i)\besc dismiss\b`, `(?i)\benter (confirm|submit|toggle)\b`, `↑↓ select|⇆ tab`},
		},
		{name: "how to interrupt", state: Working, rows: 4, screen: []string{`(?i)\b(esc|ctrl\+c) (again to |to )?interrupt\b`}},
	},
	"aider": {
		{name: "confirmation", state: Waiting, kind: Permission, rows: 1, screen: []string{`\[(Yes|No)\]: *$`}},
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

// ByTitle reports whether the title alone decides.
func (m matcher) ByTitle() bool { return !m.progress && m.Matcher.ByTitle() }

// matchers has the rules compiled, at the first use: a command line needs none.
var matchers = sync.OnceValue(func() map[string][]matcher {
	all := map[string][]matcher{}
	for program, list := range rules {
		for _, r := range list {
			if r.progress {
				all[program] = append(all[program], matcher{rule: r})
				continue
			}
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
	return terminal.Sight{Title: r.title, Screen: r.screen, Rows: r.rows}
}

// Judge tells what the evidence shows of the profile's program. Without a rule
// that holds that is Unknown. Since is not set.
func (p Profile) Judge(e Evidence) Status { return p.Look(e).Status }

// View is what evidence shows.
type View struct {
	Status
	// Titled is what the title says by itself, "" for nothing.
	Titled State `json:"titled,omitempty"`
	// Work is the row that shows work, "" for none.
	Work string `json:"work,omitempty"`
	// Composer is set if the screen shows the line in which the program takes its next
	// prompt, with no dialog below it. What a title says is no proof of that.
	Composer bool `json:"composer,omitempty"`
}

// Look is Judge, and tells whether the program's composer shows.
func (p Profile) Look(e Evidence) View {
	end := func(state State, reason string) View {
		return View{Status: Status{State: state, Source: FromExit, Rule: "exit", Reason: reason, Confidence: high}}
	}
	switch {
	case e.Ended && e.Gone:
		return View{Status: Status{State: Lost, Source: FromExit, Rule: "no exit", Reason: "it is gone, and its exit is not known", Confidence: high}}
	case e.Ended && e.Stopped:
		return end(Stopped, e.failure())
	case e.Ended && e.failure() != "":
		return end(Failed, e.failure())
	case e.Ended:
		return end(Done, "")
	}
	program := p.RulesOf()
	shown := divide(program, e.Screen)
	v := View{Composer: shown.composer, Titled: p.titled(e.Title)}
	v.Status, v.Work = p.running(e, shown, !v.Composer && len(composers[program]) > 0 && mayAsk(shown.latest))
	return v
}

// running is Judge for a program that runs. If its screen may show a dialog that no rule
// knows, neither its title nor a sign of work above tells what it does. work is the row
// that shows work.
func (p Profile) running(e Evidence, shown parts, mayAsk bool) (status Status, work string) {
	list := matchers()[p.RulesOf()]
	for _, m := range list {
		if m.ByTitle() && m.state == Waiting && m.Holds(e.Title, nil) {
			return m.byTitle(), ""
		}
	}
	for _, m := range list {
		rows := shown.latest
		switch {
		case m.progress, m.ByTitle() || m.asks() && shown.composer, m.ends() && !shown.composer, m.state == Working && mayAsk:
			continue
		case m.state == Working:
			rows = slices.Concat(shown.latest, shown.footer)
		}
		if m.Holds("", rows) {
			status = Status{State: m.state, Kind: m.kind, Source: FromScreen, Rule: m.name, Confidence: high}
			switch m.state {
			case Waiting:
				status.Reason = m.question(rows)
			case Working:
				work = m.First(rows)
			}
			return status, work
		}
	}
	if mayAsk {
		return Status{State: Unknown, Reason: "its screen may show a dialog, which no rule of profile " + p.Name + " knows"}, ""
	}
	for _, m := range list {
		if m.state == Idle && !shown.composer {
			continue // a title of idleness may stay, or never change: what else shows?
		}
		if m.ByTitle() && m.Holds(e.Title, nil) {
			return m.byTitle(), ""
		}
		if m.progress && e.Progress.Works() {
			return Status{State: m.state, Source: FromProgress, Rule: m.name, Confidence: medium}, ""
		}
	}
	return Status{State: Unknown, Reason: p.silence()}, ""
}

// titled is what a title says by itself, "" for nothing.
func (p Profile) titled(title string) State {
	for _, m := range matchers()[p.RulesOf()] {
		if m.ByTitle() && m.Holds(title, nil) {
			return m.state
		}
	}
	return ""
}

// asks reports whether the rule is about a dialog, which takes the place of the composer.
func (r rule) asks() bool { return r.state == Waiting && r.kind != RateLimit }

// ends reports whether the rule is about the end of a turn: the composer shows below it.
func (r rule) ends() bool { return r.state == Idle || r.kind == RateLimit }

func (m matcher) byTitle() Status {
	return Status{State: m.state, Kind: m.kind, Source: FromTitle, Rule: m.name, Confidence: medium}
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
