package agent

import "testing"

// What a program draws for a text that was pasted is not new, all else is.
func TestNewRow(t *testing.T) {
	const box = "╭────╮\n│ >  │\n╰────╯\n  ? for shortcuts"
	for _, tt := range []struct{ name, before, after, text, want string }{
		{"nothing", box, box, "hello", ""},
		{"the text in its box", box, "╭────╮\n│ > hello │\n╰────╯\n  ? for shortcuts", "hello", ""},
		{"a hint that goes", box, "╭────╮\n│ > hello │\n╰────╯", "hello", ""},
		{"in place of a hint", "❯ Try \"fix it\"", "❯ hello", "hello", ""},
		{"wrapped", box, "│ > one two │\n│   three │", "one two three", ""},
		{"several lines", box, "│ > one\n│   two │\n  ? for shortcuts", "one\ntwo", ""},
		{"folded", box, "│ > [Pasted text #1 +12 lines] │\n  ? for shortcuts", "a\nb", ""},
		{"within a row", "ask> (Esc ends)", "ask> hello (Esc ends)", "hello", ""},
		{"a clock and a spinner", "⠋ Working (3s)\n> ", "⠙ Working (14s)\n> hello", "hello", ""},
		{"scrolled", "a\nb\n> ", "b\n> hello\n", "hello", ""},

		{"a dialog", "> ", "> hello\nALLOW? (y/n)", "hello", "ALLOW? (y/n)"},
		{"a dialog in place of the text", "> ", "ALLOW? (y/n)", "hello", "ALLOW? (y/n)"},
		{"a dialog of letters that are in the text", "> ", "> sync\n[y/n]", "sync", "[y/n]"},
		{"a dialog that stood there once already", "ALLOW?\n> ", "ALLOW?\n> hello\nALLOW?", "hello", "ALLOW?"},
		{"a dialog at the end of a row", "> ", "> hello (y/n)", "hello", "> hello (y/n)"},
		{"a dialog at the end of an old row", "run it> ", "run it> sure?", "hello", "run it> sure?"},
		{"a menu", "> ", "> hello\n❯ 1. Yes", "hello", "❯ 1. Yes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newRow(rows(tt.before), rows(tt.after), tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckPrompt(t *testing.T) {
	for _, ok := range []string{"x", "two\nlines", "a\tb\r\n", "日本 é 🙂", "[200~"} {
		if err := CheckPrompt(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", " \n", "a\x1b[201~\rrm -rf /", "\u009b201~", "a\x00", "a\x03", "a\x7f", "\xff", string(make([]byte, MaxPrompt+1))} {
		if err := CheckPrompt(bad); err == nil {
			t.Errorf("%q is sent", bad)
		}
	}
}

// FuzzNewRow: a screen that did not change has nothing new, whatever it shows,
// and a row of other letters is found.
func FuzzNewRow(f *testing.F) {
	f.Add("> \n? for shortcuts", "hello")
	f.Add("[Pasted text #1]", "\xff\n")
	f.Fuzz(func(t *testing.T, screen, text string) {
		before := rows(screen)
		if got := newRow(before, before, text); got != "" {
			t.Errorf("%q is new", got)
		}
		const dialog = "ЖЖ?"
		if after := append(before, dialog); solid(screen+text) == "" && newRow(before, after, text) != dialog {
			t.Error("a new row is not found")
		}
	})
}
