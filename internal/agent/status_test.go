package agent

import (
	"slices"
	"strings"
	"testing"

	"middleman/terminal/vt"
)

func rows(text string) []string { return strings.Split(strings.Trim(text, "\n"), "\n") }

const (
	claudeDialog = `
 Bash command
   rm -r build
 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for rm commands
   3. No, and tell Claude what to do differently (esc)
`
	claudeBusy = `
✻ Brewing… (12s · ↓ 1.2k tokens · esc to interrupt)

╭──────────────────────────────────────╮
│ >                                    │
╰──────────────────────────────────────╯
  ? for shortcuts
`
	claudeReady = `
● Done.

╭──────────────────────────────────────╮
│ >                                    │
╰──────────────────────────────────────╯
  ? for shortcuts
`
)

// What each program shows, and what it means. The screens are made after the
// programs' documentation: they prove our side alone.
func TestJudge(t *testing.T) {
	quoted := claudeDialog + claudeReady
	for _, tt := range []struct {
		name, profile string
		e             Evidence
		state         State
		source, rule  string
	}{
		{"exit 0", "claude", Evidence{Ended: true, Title: "⠂ Work"}, Done, FromExit, "exit"},
		{"exit 3", "claude", Evidence{Ended: true, Code: 3}, Failed, FromExit, "exit"},
		{"stopped", "claude", Evidence{Ended: true, Stopped: true, Code: -1, Signal: "SIGHUP"}, Stopped, FromExit, "exit"},
		{"stopped, and exited with 1", "claude", Evidence{Ended: true, Stopped: true, Code: 1}, Stopped, FromExit, "exit"},
		{"stopped, and exited with 0", "claude", Evidence{Ended: true, Stopped: true}, Stopped, FromExit, "exit"},
		{"killed", "codex", Evidence{Ended: true, Code: -1, Signal: "SIGKILL"}, Failed, FromExit, "exit"},
		{"lost", "codex", Evidence{Ended: true, Gone: true}, Lost, FromExit, "no exit"},
		{"ended in a dialog", "claude", Evidence{Ended: true, Screen: rows(claudeDialog)}, Done, FromExit, "exit"},

		{"claude works", "claude", Evidence{Title: "⠂ Fix the login", Screen: rows(claudeReady)}, Working, FromTitle, "spinner in the title"},
		{"claude works, by its title of 2.1.228", "claude", Evidence{Title: "◐ Fix the login", Screen: rows(claudeReady)}, Working, FromTitle, "spinner in the title"},
		{"claude works, by its progress", "claude", Evidence{Title: "✳ Claude Code", Progress: vt.Progress{State: vt.ProgressIndeterminate}, Screen: rows(claudeReady)}, Working, FromProgress, "progress"},
		{"claude asks while its progress stays", "claude", Evidence{Progress: vt.Progress{State: vt.ProgressNormal, Percent: 40}, Screen: rows(claudeDialog)}, Waiting, FromScreen, "permission dialog"},
		{"claude reports an error by its progress", "claude", Evidence{Progress: vt.Progress{State: vt.ProgressError}, Screen: rows(claudeReady)}, Unknown, "", ""},
		{"copilot works, by its progress", "copilot", Evidence{Progress: vt.Progress{State: vt.ProgressIndeterminate}}, Working, FromProgress, "progress"},
		{"progress of a program of which none is known", "gemini", Evidence{Progress: vt.Progress{State: vt.ProgressNormal}}, Unknown, "", ""},
		{"claude works, by its screen", "claude", Evidence{Screen: rows(claudeBusy)}, Working, FromScreen, "how to interrupt"},
		{"claude asks", "claude", Evidence{Screen: rows(claudeDialog)}, Waiting, FromScreen, "permission dialog"},
		{"claude asks while its title says work", "claude", Evidence{Title: "⠂ Fix", Screen: rows(claudeDialog)}, Waiting, FromScreen, "permission dialog"},
		{"a dialog that claude quotes", "claude", Evidence{Title: "✳ Fix", Screen: rows(quoted)}, Idle, FromTitle, "star in the title"},
		{"half a dialog", "claude", Evidence{Screen: rows("Do you want to proceed?\n")}, Unknown, "", ""},
		{"claude is idle", "claude", Evidence{Title: "✳ Fix the login", Screen: rows(claudeReady)}, Idle, FromTitle, "star in the title"},
		{"a star in the title, and something else that asks", "claude", Evidence{Title: "✳ Claude Code", Screen: rows("Username for 'https://example.org':")}, Unknown, "", ""},
		{"claude without a title", "claude", Evidence{Screen: rows(claudeReady)}, Unknown, "", ""},
		{"after Esc", "claude", Evidence{Title: "✳ Fix", Screen: rows("  ⎿ Interrupted by user" + claudeReady)}, Idle, FromTitle, "star in the title"},
		{"claude asks its own question", "claude", Evidence{Screen: rows("Do you want tests?\n\n❯ 1. Yes\n     All of them\n  2. No\n  3. Type something.\n────\n  Chat about this\n\nEnter to select · ↑/↓ to navigate · Esc to cancel")}, Waiting, FromScreen, "question"},
		{"claude asks what to do", "claude", Evidence{Screen: rows("What do you want to do?\n❯ 1. Stop and wait for limit to reset\n  2. Upgrade your plan")}, Waiting, FromScreen, "selection"},
		{"claude has hit a limit", "claude", Evidence{Title: "✳ Fix", Screen: rows("  ⎿  You've hit your limit · resets 7pm (Asia/Tokyo)\n     Opening your options…" + claudeReady[len("\n● Done.\n"):])}, Waiting, FromScreen, "usage limit"},
		{"claude has hit its weekly limit", "claude", Evidence{Screen: rows("  ⎿  You’ve hit your weekly limit · resets May 5 at 9pm" + claudeReady[len("\n● Done.\n"):])}, Waiting, FromScreen, "usage limit"},
		{"claude works again after a limit", "claude", Evidence{Screen: rows("  ⎿  You've hit your limit · resets 7pm\n> go on" + claudeBusy)}, Working, FromScreen, "how to interrupt"},
		{"a limit that was long ago", "claude", Evidence{Title: "✳ Fix", Screen: rows("  ⎿  You've hit your limit · resets 7pm\n> go on\n● One\n● Two" + claudeReady)}, Idle, FromTitle, "star in the title"},
		{"a text about a limit", "claude", Evidence{Title: "✳ Fix", Screen: rows("● It prints: You've hit your limit · resets 7pm" + claudeReady[len("\n● Done.\n"):])}, Idle, FromTitle, "star in the title"},
		{"claude wants a login", "claude", Evidence{Screen: rows("Select login method:\n ❯ 1. Account\n   2. Console")}, Waiting, FromScreen, "login"},
		{"work far above", "claude", Evidence{Screen: rows("(esc to interrupt)\n" + strings.Repeat("text\n", 20))}, Unknown, "", ""},

		{"codex asks", "codex", Evidence{Title: "Action Required | repo"}, Waiting, FromTitle, "action required"},
		{"codex asks, by its screen", "codex", Evidence{Screen: rows("Would you like to run the following command?\n  $ make\n› 1. Yes, proceed (y)\n  2. No (esc)")}, Waiting, FromScreen, "approval dialog"},
		{"codex works", "codex", Evidence{Title: "⠋ repo"}, Working, FromTitle, "spinner in the title"},
		{"codex works, by its screen", "codex", Evidence{Screen: rows("• Working (3s • esc to interrupt)\n\n› Ask")}, Working, FromScreen, "how to interrupt"},
		{"codex has hit a limit", "codex", Evidence{Title: "repo", Screen: rows("■ You’ve hit your usage limit. Upgrade to Pro (https://example.org), visit\nhttps://example.org/usage to purchase more credits or try again at 2:51 PM.\n\n› Ask")}, Waiting, FromScreen, "usage limit"},
		{"codex has hit a limit in a task", "codex", Evidence{Title: "repo", Screen: rows("■ Error running remote compact task: You've hit your usage limit. Try again at 2:57 PM.\n\n› Ask")}, Waiting, FromScreen, "usage limit"},
		{"codex works again after a limit", "codex", Evidence{Screen: rows("■ You've hit your usage limit.\n\n› go on\n\n• Working (3s • esc to interrupt)\n\n› Ask")}, Working, FromScreen, "how to interrupt"},
		{"codex says nothing", "codex", Evidence{Title: "repo", Screen: rows("› Ask")}, Unknown, "", ""},

		{"gemini asks", "gemini", Evidence{Screen: rows("│ Apply this change? │\n│ ● 1. Yes, allow once │\n│   2. No (esc) │")}, Waiting, FromScreen, "confirmation"},
		{"gemini works", "gemini", Evidence{Screen: rows("⠏ Thinking (esc to cancel, 4s)\n╭──────╮\n│ > Type │\n╰──────╯\n~/x  gemini-2.5-pro")}, Working, FromScreen, "how to cancel"},
		{"amp works", "amp", Evidence{Title: "⠇ fix"}, Working, FromTitle, "spinner in the title"},
		{"amp asks", "amp", Evidence{Title: "Plugin confirmation needed"}, Waiting, FromTitle, "confirmation in the title"},

		{"agy asks", "agy", Evidence{Screen: rows("Requesting permission for: make\n\nDo you want to proceed?\n> 1. Yes\n  2. No")}, Waiting, FromScreen, "permission dialog"},
		{"agy works", "agy", Evidence{Screen: rows("⠧ Generating...\n>")}, Working, FromScreen, "spinner"},
		{"agy says nothing", "agy", Evidence{Screen: rows(">")}, Unknown, "", ""},
		{"copilot asks", "copilot", Evidence{Screen: rows("Do you want to run this command?\n❯ 1. Yes\n  2. No\n↑↓ to navigate · Enter to select · Esc to cancel")}, Waiting, FromScreen, "selection"},
		{"copilot works", "copilot", Evidence{Screen: rows("∙ Thinking (Esc to cancel)\n>")}, Working, FromScreen, "how to cancel"},
		{"copilot says nothing", "copilot", Evidence{Screen: rows("> Enter @ to mention files")}, Unknown, "", ""},
		{"cursor asks", "cursor", Evidence{Screen: rows("Run this command?\n → Run (once) (y)\n   Skip (esc or n)")}, Waiting, FromScreen, "permission dialog"},
		{"cursor asks to write", "cursor", Evidence{Screen: rows("Write to this file?\n Proceed (y)\n Reject & propose changes (esc or n or p)")}, Waiting, FromScreen, "permission dialog"},
		{"cursor works", "cursor", Evidence{Screen: rows("⬢ Reading\n\n→ Add a follow-up\n  ctrl+c to stop")}, Working, FromScreen, "how to stop"},
		{"cursor works, by its spinner", "cursor", Evidence{Screen: rows("⬡ Generating\n→ Add a follow-up")}, Working, FromScreen, "spinner"},
		{"opencode asks", "opencode", Evidence{Screen: rows("△ Permission required\n  # make\n Allow once   Allow always   Reject")}, Waiting, FromScreen, "permission dialog"},
		{"opencode asks a question", "opencode", Evidence{Screen: rows("Which port?\n↑↓ select  enter confirm  esc dismiss")}, Waiting, FromScreen, "selection"},
		{"opencode works", "opencode", Evidence{Screen: rows("┃ text\n[⋯] esc interrupt")}, Working, FromScreen, "how to interrupt"},
		{"opencode quotes", "opencode", Evidence{Screen: rows("△ Permission required\n" + strings.Repeat("text\n", 20))}, Unknown, "", ""},
		{"aider asks", "aider", Evidence{Screen: rows("make\nRun shell command? (Y)es/(N)o/(D)on't ask again [Yes]: ")}, Waiting, FromScreen, "confirmation"},
		{"aider was answered", "aider", Evidence{Screen: rows("Run shell command? (Y)es/(N)o [Yes]: y\nRunning make")}, Unknown, "", ""},
		{"aider says nothing", "aider", Evidence{Screen: rows("a.go\n>")}, Unknown, "", ""},

		{"a program without rules", Shell, Evidence{Title: "⠂ x", Screen: rows(claudeDialog)}, Unknown, "", ""},
		{"an empty screen", "claude", Evidence{}, Unknown, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Profiles(nil, nil)[tt.profile]
			if got := p.Judge(tt.e); got.State != tt.state || got.Source != tt.source || got.Rule != tt.rule || strings.Contains(got.Reason, "\n") {
				t.Errorf("%+v, want %s by %s, rule %q", got, tt.state, tt.source, tt.rule)
			}
		})
	}
}

// A wrapper has the rules of the program that it starts.
func TestLike(t *testing.T) {
	own := map[string]Definition{"wrapped": {Command: []string{"w"}, Like: "claude"}, "plain": {Command: []string{"w"}}}
	set, e := Profiles(own, nil), Evidence{Title: "✳ x", Screen: rows(claudeReady)}
	if got := set["wrapped"].Judge(e); got.State != Idle || !set["wrapped"].HasRules() {
		t.Errorf("%+v", got)
	}
	if got := set["plain"].Judge(e); got.State != Unknown || set["plain"].HasRules() {
		t.Errorf("%+v", got)
	}
	if err := (Definition{Command: []string{"w"}, Like: "nobody"}).Check("p"); err == nil || !strings.Contains(err.Error(), `like is "nobody"`) {
		t.Error(err)
	}
}

// A dialog says what it asks, and about what.
func TestQuestion(t *testing.T) {
	const options = "\n ❯ 1. Yes\n   2. No\n"
	rule := strings.Repeat("─", 40)
	for _, tt := range []struct{ program, screen, want string }{
		{"claude", claudeDialog, "Do you want to proceed?"},
		{"claude", "● I remove it.\n" + rule + "\n Bash command\n\n   rm -r build\n   Remove the build\n\n Do you want to proceed?" + options, "Bash command: rm -r build: Do you want to proceed?"},
		{"claude", "╭" + rule + "╮\n│ Bash command   │\n│   rm -r build  │\n│ Do you want to proceed? │" + options, "Bash command: rm -r build: Do you want to proceed?"},
		{"claude", rule + "\n Edit file\n a.txt\n╌╌╌╌╌╌╌╌╌╌╌╌\n 1 -old\n╌╌╌╌╌╌╌╌╌╌╌╌\n Do you want to make this edit to a.txt?" + options, "Do you want to make this edit to a.txt?"},
		{"claude", rule + strings.Repeat("\n text", 20) + "\n Do you want to proceed?" + options, "Do you want to proceed?"},
		{"codex", "│ Would you like to run the following command?\n› 1. Yes, proceed\n  2. No (esc)\n", "Would you like to run the following command?"},
		{"codex", "  Would you like to run the following command?\n\n  $ make test\n\n› 1. Yes, proceed\n  2. No (esc)\n", "Would you like to run the following command? $ make test"},
	} {
		p := Profiles(nil, nil)[tt.program]
		if got := p.Judge(Evidence{Screen: rows(tt.screen)}); got.Kind != Permission || got.Reason != tt.want {
			t.Errorf("%s: %+v, want %s", tt.screen, got, tt.want)
		}
	}
}

// Rules belong to built-in profiles, and each says something that can hold.
func TestRules(t *testing.T) {
	for program, list := range rules {
		names := map[string]bool{}
		for _, r := range list {
			if !IsBuiltIn(program) || r.name == "" || names[r.name] || r.progress == (r.title != "" || len(r.screen) > 0) || r.progress && r.state != Working ||
				(len(r.screen) > 0) != (r.rows > 0) || !slices.Contains([]State{Working, Waiting, Idle}, r.state) ||
				(r.state == Waiting) != (r.kind != "") {
				t.Errorf("%s: %+v", program, r)
			}
			names[r.name] = true
		}
	}
	if len(matchers()) != len(rules) {
		t.Error("rules are missing")
	}
}

// FuzzJudge: whatever a program prints, there is an answer, and one that no
// rule gave is unknown.
func FuzzJudge(f *testing.F) {
	f.Add("⠂ x", claudeDialog)
	f.Add("Action Required", "\x1b[0m\xff\n❯ 1. ")
	f.Fuzz(func(t *testing.T, title, screen string) {
		for name, p := range Profiles(nil, nil) {
			got := p.Judge(Evidence{Title: title, Screen: strings.Split(screen, "\n")})
			if (got.State == Unknown) != (got.Rule == "") || got.State != Unknown && !p.HasRules() {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}
