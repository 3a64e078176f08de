package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const (
	rule40 = "────────────────────────────────────────"
	// The newer forms of Claude Code's composer and dialog have no box.
	claudeLine  = rule40 + "\n❯ \n" + rule40 + "\n  ? for shortcuts"
	claudeAsks  = rule40 + "\n Bash command\n\n   rm -rf /tmp/x\n   Remove it\n\n Do you want to proceed?\n%s\n\n Esc to cancel · Tab to amend"
	claudeWorks = "✻ Thinking… (3s · ↑ 1.2k tokens · esc to interrupt)\n\n"
	codexLine   = "› Ask Codex\n\n  100% context left"
	codexAsks   = "  Would you like to run the following command?\n\n  $ rm -rf /tmp/x\n\n%s\n\n  Press enter to confirm or esc to cancel"
	geminiLine  = "╭────────────────────────────╮\n│ >   Type your message      │\n╰────────────────────────────╯\n~/x   no sandbox   gemini-2.5-pro (99% context left)"
	geminiAsks  = "╭────────────────────────────╮\n│ ?  Shell rm -rf /tmp/x     │\n│ Allow execution of: 'rm'?  │\n│                            │\n%s\n╰────────────────────────────╯"
)

// options returns a dialog's options, of which one is selected, in rows of a width.
func options(n, chosen, width int, mark, left string) string {
	texts := []string{"Yes", "Yes, and don't ask again for rm commands in /tmp", "Yes, for this session", "Edit", "No, and say what to do differently (esc)"}
	texts = append(texts[:n-1:n-1], texts[4])
	var rows []string
	for i, text := range texts {
		row := left + strings.Repeat(" ", len([]rune(mark)))
		if i == chosen {
			row = left + mark
		}
		row += fmt.Sprintf(" %d. ", i+1)
		for room := width - len([]rune(row)); len(text) > room; {
			cut := strings.LastIndex(text[:room], " ")
			rows = append(rows, row+text[:cut])
			row, text = left+strings.Repeat(" ", len([]rune(mark))+4), text[cut+1:]
		}
		rows = append(rows, row+text)
	}
	return strings.Join(rows, "\n")
}

// A dialog is known whichever of its options is selected, and however it is wrapped.
func TestDialogsWithAnyOptionSelected(t *testing.T) {
	forms := map[string]struct{ dialog, mark, left string }{
		"claude": {claudeAsks, "❯", " "}, "codex": {codexAsks, "›", ""}, "gemini": {geminiAsks, "●", "│ "},
	}
	for program, f := range forms {
		for n := 2; n <= 5; n++ {
			for chosen := range n {
				for _, width := range []int{80, 40, 24} {
					screen := "● I will.\n\n" + fmt.Sprintf(f.dialog, options(n, chosen, width, f.mark, f.left))
					v := Profiles(nil, nil)[program].Look(Evidence{Title: "✳ x", Screen: rows(screen)})
					if v.State != Waiting || v.Kind != Permission || v.Composer {
						t.Errorf("%s, option %d of %d at %d columns: %+v\n%s", program, chosen+1, n, width, v, screen)
					}
				}
			}
		}
	}
	for name, tt := range map[string]struct{ program, screen string }{
		"copilot, second":     {"copilot", "Do you want to run this command?\n  1. Yes\n❯ 2. No\n↑↓ to navigate · Enter to select · Esc to cancel"},
		"copilot, 40 columns": {"copilot", "Do you want to run this command?\n  1. Yes\n❯ 2. No\n↑↓ to navigate · Enter to select · Esc\nto cancel"},
		"cursor, second":      {"cursor", "Run this command?\n   Run (once) (y)\n → Skip (esc or n)"},
		"opencode, second":    {"opencode", "△ Permission required\n  # make\n Allow once   [Allow always]   Reject"},
		"opencode, wrapped":   {"opencode", "Which port?\n↑↓ select  enter confirm  esc\ndismiss"},
		"agy, second":         {"agy", "Requesting permission for: make\n\nDo you want to proceed?\n  1. Yes\n> 2. No"},
		"aider, wrapped":      {"aider", "Run shell command? (Y)es/(N)o/(D)on't\nask again [Yes]: "},
		"claude, edit":        {"claude", rule40 + "\n Edit file\n Do you want to make this edit to\n a_very_long_file_name.py?\n   1. Yes\n ❯ 2. No"},
		"claude, question":    {"claude", rule40 + "\n ☐ Color\n\nWhich color?\n\n  1. Red\n❯ 2. Blue\n  3. Type something.\n\nEnter to select · Tab/Arrow keys to navigate · Esc to cancel"},
		"claude, trust":       {"claude", " Is this a project you trust?\n\n   1. Yes, I trust this folder\n ❯ 2. No, exit\n\n Enter to confirm · Esc to cancel"},
		"codex, trust":        {"codex", "> You are running Codex in /work/x\n\n  1. Yes, continue\n› 2. No, quit\n\n  Press enter to continue"},
		"codex, server":       {"codex", "  Allow the x MCP server to run tool \"y\"?\n\n    1. Allow\n  › 2. Cancel\n  enter to submit | esc to cancel"},
		"gemini, trust":       {"gemini", "│ Do you trust this folder? │\n│   1. Trust folder (x) │\n│ ● 2. Trust parent folder │"},
	} {
		if v := Profiles(nil, nil)[tt.program].Look(Evidence{Title: "✳ x", Screen: rows(tt.screen)}); v.State != Waiting || v.Composer {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// What stands above a composer is old; what stands where it would be is not.
func TestComposer(t *testing.T) {
	claudeDialog2 := fmt.Sprintf(claudeAsks, options(3, 0, 80, "❯", " "))
	codexDialog := fmt.Sprintf(codexAsks, options(3, 1, 80, "›", ""))
	for _, tt := range []struct {
		name, profile, title, screen string
		state                        State
		composer                     bool
	}{
		{"empty", "claude", "✳ x", claudeLine, Idle, true},
		{"no title", "claude", "x", claudeLine, Unknown, true},
		{"a draft", "claude", "✳ x", rule40 + "\n❯ fix it\n  and test\n" + rule40 + "\n  ⏵⏵ accept edits on (shift+tab to cycle)", Idle, true},
		{"a dialog in the draft", "claude", "✳ x", rule40 + "\n❯ Do you want to proceed?\n  ❯ 1. Yes\n    2. No\n  Esc to cancel\n" + rule40 + "\n  ? for shortcuts", Idle, true},
		{"a dialog in the output", "claude", "✳ x", claudeDialog2 + "\n\n● That is all.\n\n" + claudeLine, Idle, true},
		{"a menu as the last of the output", "claude", "✳ x", "● Pick one:\n  ❯ 1. Yes\n    2. No\n\n" + claudeLine, Idle, true},
		{"a footer in the output", "claude", "✳ x", claudeWorks + "● That is all.\n\n" + claudeLine, Idle, true},
		{"work", "claude", "✳ x", "> hi\n\n" + claudeWorks + claudeLine, Working, true},
		{"work with a tip", "claude", "✳ x", claudeWorks + "  ⎿  Tip: none\n\n" + claudeLine, Working, true},
		{"work, in the footer", "claude", "x", rule40 + "\n❯ \n" + rule40 + "\n  ⏵⏵ auto mode on · esc to interrupt", Working, true},
		{"after Esc", "claude", "x", "> hi\n  ⎿  Interrupted · What should Claude do instead?\n\n" + claudeLine, Idle, true},
		{"Esc long ago", "claude", "x", "  ⎿  Interrupted · What should Claude do instead?\n\n> go on\n\n● Done.\n\n" + claudeLine, Unknown, true},
		{"Esc, and no composer", "claude", "x", "  ⎿  Interrupted · What should Claude do instead?", Unknown, false},

		{"a dialog", "claude", "✳ x", "> hi\n\n" + claudeDialog2, Waiting, false},
		{"a dialog, and npm's row", "claude", "✳ x", "● Bash(npm run build)\n> app@1.0.0 build\n> tsc\n\n" + claudeDialog2, Waiting, false},
		{"a dialog about a command with a prompt", "claude", "✳ x", strings.Replace(claudeDialog2, "rm -rf /tmp/x", "cat <<X\n> hello\n   ❯ \nX", 1), Waiting, false},
		{"a dialog about a composer", "claude", "✳ x", strings.Replace(claudeDialog2, "   rm -rf /tmp/x", claudeLine, 1), Waiting, false},
		{"a dialog below a composer", "claude", "✳ x", claudeLine + "\n\n" + claudeDialog2, Waiting, false},
		{"an old composer, and more output", "claude", "✳ x", claudeLine + strings.Repeat("\ntext", 20), Unknown, false},
		{"a list that no rule knows", "claude", "✳ x", " Resume Session\n\n ❯ fix login\n   2 hours ago\n\n Ctrl+A to show all · Esc to cancel", Unknown, false},
		{"a list below work", "claude", "⠂ x", claudeWorks + " Which?\n ❯ this\n   that\n\n Enter to select · Esc to cancel", Unknown, false},
		{"options in a frame", "claude", "✳ x", rule40 + "\n❯ 1. Yes\n  2. No\n" + rule40 + "\n", Waiting, false},
		{"a list in a frame", "claude", "✳ x", rule40 + "\n❯ Allow\n  Deny\n" + rule40 + "\n Enter to confirm · Esc to cancel", Unknown, false},
		{"a question below", "claude", "✳ x", claudeLine + "\n\nOverwrite x? (y/n)", Unknown, false},
		{"output that says no more", "claude", "✳ x", "some text", Unknown, false},

		{"empty", "codex", "repo", codexLine, Unknown, true},
		{"bare", "codex", "repo", "• Done.\n\n› ", Unknown, true},
		{"a dialog in the output", "codex", "repo", "• The dialog is:\n" + codexDialog + "\n\n• Done.\n\n" + codexLine, Unknown, true},
		{"a footer in the output", "codex", "repo", "• The footer is:\n  • Working (3s • esc to interrupt)\n\n• Done.\n\n" + codexLine, Unknown, true},
		{"a footer as the last of the output", "codex", "repo", "• The footer is:\n  • Working (3s • esc to interrupt)\n\n" + codexLine, Unknown, true},
		{"work", "codex", "repo", "• Ran make\n\n• Working (3s • esc to interrupt)\n  └ more\n\n" + codexLine, Working, true},
		{"after Esc", "codex", "repo", "• Ran make\n\n■ Conversation interrupted - tell the model\n  what to do differently.\n\n" + codexLine, Idle, true},
		{"Esc long ago", "codex", "repo", "■ Conversation interrupted - tell the model\n\n› go on\n\n• Done.\n\n" + codexLine, Unknown, true},
		{"a dialog", "codex", "repo", "› fix it\n\n" + codexDialog, Waiting, false},
		{"a draft like an option", "codex", "repo", "› 1. do it\n\n  100% context left", Unknown, false},
		{"what the user said, and output", "codex", "repo", "› fix it\n\n• I do\n", Unknown, false},
		{"what the user said, and a list", "codex", "repo", "› fix it\n\n  Which?\n  this\n  that", Unknown, false},

		{"empty", "gemini", "", geminiLine, Unknown, true},
		{"newer", "gemini", "", "▄▄▄▄▄▄▄▄\n > Type your message\n▀▀▀▀▀▀▀▀\n ~/x   gemini-3", Unknown, true},
		{"a dialog in the output", "gemini", "", fmt.Sprintf(geminiAsks, options(3, 1, 80, "●", "│ ")) + "\n✦ Done.\n" + geminiLine, Unknown, true},
		{"work", "gemini", "", "✦ Text\n\n ⠏ Thinking... (esc to cancel, 4s)\n\n" + geminiLine, Working, true},
		{"a footer in the output", "gemini", "", "⠏ Thinking (esc to cancel, 4s)\n✦ Done.\n" + geminiLine, Unknown, true},
		{"a dialog below a composer", "gemini", "", geminiLine + "\n" + fmt.Sprintf(geminiAsks, options(3, 1, 80, "●", "│ ")), Waiting, false},
	} {
		t.Run(tt.profile+", "+tt.name, func(t *testing.T) {
			v := Profiles(nil, nil)[tt.profile].Look(Evidence{Title: tt.title, Screen: rows(tt.screen)})
			if v.State != tt.state || v.Composer != tt.composer {
				t.Errorf("%+v, want %s, composer %v, of\n%s", v, tt.state, tt.composer, tt.screen)
			}
		})
	}
}

// Random screens of old dialogs, quotes, rows like a prompt, composers and dialogs: a
// prompt is never sent where a dialog is the last of them, and always where a composer
// is.
func TestPromptsGoToComposersAlone(t *testing.T) {
	type program struct {
		composers, output []string
		dialog            func(r *rand.Rand) string
	}
	pick := func(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }
	dialogs := func(form, mark, left string) func(r *rand.Rand) string {
		return func(r *rand.Rand) string {
			n := 2 + r.IntN(4)
			return fmt.Sprintf(form, options(n, r.IntN(n), []int{80, 40}[r.IntN(2)], mark, left))
		}
	}
	shared := []string{"> app@1.0.0 build\n> tsc", "> hi", "text", "  > quoted", "Do you want to proceed?", "  1. one\n  2. two", "(esc to interrupt)", "  Esc to cancel", "$ make", "  ❯ "}
	programs := map[string]program{
		"claude": {
			[]string{claudeLine, strings.TrimSpace(claudeReady[len("\n● Done.\n"):]), rule40 + "\n❯ fix it\n  > and this\n" + rule40},
			[]string{"● Done.", "● Bash(ls)\n  ⎿  x", claudeWorks, "  ⎿  Interrupted by user"}, dialogs(claudeAsks, "❯", " "),
		},
		"codex":  {[]string{codexLine, "› ", "› fix it\n  and this\n\n  ? for shortcuts"}, []string{"• Done.", "› fix it", "• Working (3s • esc to interrupt)"}, dialogs(codexAsks, "›", "")},
		"gemini": {[]string{geminiLine}, []string{"✦ Done.", "⠏ Thinking (esc to cancel, 4s)"}, dialogs(geminiAsks, "●", "│ ")},
	}
	for _, name := range []string{"copilot", "cursor", "opencode", "agy", "aider", "amp"} {
		programs[name] = program{nil, []string{"> ", claudeLine}, func(r *rand.Rand) string {
			return pick(r, []string{
				fmt.Sprintf(claudeAsks, options(3, r.IntN(3), 80, "❯", " ")), "Run this command?\n → Run (once) (y)\n   Skip (esc or n)",
				"△ Permission required\n  # make\n Allow once   Reject", "Run it? (Y)es/(N)o [Yes]:",
			})
		}}
	}
	for name, is := range programs {
		for seed := range uint64(2000) {
			r := rand.New(rand.NewPCG(seed, 1))
			var screen []string
			for range r.IntN(6) {
				screen = append(screen, pick(r, slices.Concat(shared, is.output, is.composers, []string{is.dialog(r)})))
			}
			ends := r.IntN(2) == 0 && len(is.composers) > 0
			if ends {
				screen = append(screen, pick(r, is.composers))
			} else {
				screen = append(screen, is.dialog(r))
			}
			text := strings.Join(screen, "\n\n")
			seen := screenOf(text)
			seen.Title = pick(r, []string{"", "✳ x", "⠂ x", "x"})
			if err := Profiles(nil, nil)[name].allows(seen, false); (err == nil) != ends {
				t.Fatalf("%s, seed %d: %v at this screen, which ends with a composer: %v\n%s", name, seed, err, ends, text)
			}
			if v := Profiles(nil, nil)[name].Judge(seen.evidence()); !ends && v.State == Idle {
				t.Fatalf("%s, seed %d: %+v\n%s", name, seed, v, text)
			}
		}
	}
}

// screenOf is a capture of a screen with this text.
func screenOf(text string) (v screen) {
	for _, row := range rows(text) {
		line := struct{ Runs []struct{ Text string } }{[]struct{ Text string }{{row}}}
		v.Lines = append(v.Lines, line)
	}
	return v
}
