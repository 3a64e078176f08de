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
			if got, with := newRow(rows(tt.before), rows(tt.after), tt.text); got != tt.want || with != "" {
				t.Errorf("%q, beside %q; want %q", got, with, tt.want)
			}
		})
	}
}

// A text that was put beside another one is not alone in its input.
func TestBesideAnother(t *testing.T) {
	for _, tt := range []struct{ name, before, after, text, want string }{
		{"an empty input", "❯ ", "❯ but not in prod", "but not in prod", ""},
		{"a name as mark", "ask> (Esc ends)", "ask> hello (Esc ends)", "hello", ""},
		{"a frame", "fix │ > │", "fix │ > hello │", "hello", ""},
		{"a number", "In [3]: ", "In [3]: hello", "hello", ""},
		{"a shell", "me@box ~/a $ ", "me@box ~/a $ hello", "hello", ""},
		{"folded", "│ > │", "│ > [Pasted text #1 +12 lines] │", "a\nb", ""},
		{"a folded one above", "> [Pasted text #1 +3 lines]\n> ", "> [Pasted text #1 +3 lines]\n> hello", "hello", ""},
		{"elsewhere on the screen", "> delete the old logs\n❯ ", "> delete the old logs\n❯ hello", "hello", ""},

		{"behind another", "❯ delete the old logs", "❯ delete the old logsbut not in prod", "but not in prod", "❯ delete the old logsbut not in prod"},
		{"behind another and a blank", "│ > fix it. │", "│ > fix it. hello │", "hello", "│ > fix it. hello │"},
		{"behind a question", "> why?", "> why?hello", "hello", "> why?hello"},
		{"before another", "> logs", "> hellologs", "hello", "> hellologs"},
		{"within another", "> ab", "> ahellob", "hello", "> ahellob"},
		{"behind another, folded", "> fix it", "> fix it[Pasted text #1 +12 lines]", "a\nb", "> fix it[Pasted text #1 +12 lines]"},
		{"behind a folded one", "> [Pasted text #1 +3 lines]", "> [Pasted text #1 +3 lines]hello", "hello", "> [Pasted text #1 +3 lines]hello"},
		{"two folded ones", "> [Pasted text #1 +3 lines]", "> [Pasted text #1 +3 lines][Pasted text #2 +1 lines]", "a\nb", "> [Pasted text #1 +3 lines][Pasted text #2 +1 lines]"},
		{"wrapped", "> fix it", "> fix itone two\n  three", "one two three", "> fix itone two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if row, got := newRow(rows(tt.before), rows(tt.after), tt.text); got != tt.want || row != "" {
				t.Errorf("beside %q, new %q; want %q", got, row, tt.want)
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
		if got, with := newRow(before, before, text); got != "" || with != "" {
			t.Errorf("%q is new, beside %q", got, with)
		}
		const dialog = "ЖЖ?"
		if solid(screen+text) == "" {
			if got, _ := newRow(before, append(before, dialog), text); got != dialog {
				t.Error("a new row is not found")
			}
		}
	})
}
