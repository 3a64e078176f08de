package viewer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"middleman/terminal"
	"middleman/terminal/vt"
)

func somePicker() *picker {
	return &picker{listed: true, rows: 2, help: "the help", choices: []Choice{
		{ID: "s1", Label: "fix/sh", State: "running", Runs: "sh -l"},
		{ID: "s2", Label: "docs/vim", State: "running", Runs: "vim README.md"},
		{ID: "s3", Label: "日本/sh", State: "unreachable", Runs: "sh", Needs: true},
		{ID: "s4", Label: "other/sh", State: "running", Runs: "sh", Busy: true},
		{ID: "s5", Label: "here/sh", State: "running", Runs: "sh", Here: true},
	}}
}

// What is typed before the list has come is acted on once it has.
func TestPickerBeforeTheList(t *testing.T) {
	for _, tt := range []struct {
		keys []string
		want verdict
		at   string
	}{
		{[]string{"\r"}, goThere, "s1"},
		{[]string{"!"}, goThere, "s3"},
		{[]string{"d", "o", "\r"}, goThere, "s2"},
		{[]string{"\r", "d"}, undone, "s2"},
		{[]string{""}, undone, "s1"},
	} {
		p, whole := somePicker(), somePicker()
		p.listed, p.choices = false, nil
		for _, key := range tt.keys {
			if got := p.press(key); got != undone {
				t.Errorf("%q: %v before the list", tt.keys, got)
			}
		}
		p.listed, p.choices = true, whole.choices
		got := p.press("")
		if c, _ := p.selected(); got != tt.want || c.ID != tt.at {
			t.Errorf("%q: %v at %s, want %v at %s", tt.keys, got, c.ID, tt.want, tt.at)
		}
		if again := p.press(""); again != undone {
			t.Errorf("%q: %v twice", tt.keys, again)
		}
	}
}
func TestPickerKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want verdict
		at   string // the selected choice
	}{
		{"enter", []string{"\r"}, goThere, "s1"},
		{"a line feed", []string{"\n"}, goThere, "s1"},
		{"down", []string{keyDown, "\r"}, goThere, "s2"},
		{"down in application mode", []string{"\x1bOB", "\r"}, goThere, "s2"},
		{"below the end", []string{keyEnd, keyDown, "\r"}, stay, "s5"},
		{"above the top", []string{keyDown, keyUp, keyUp, "\r"}, goThere, "s1"},
		{"a page", []string{keyPageDown, "\r"}, goThere, "s3"},
		{"as emacs", []string{"\x0e", "\x0e", "\x10", "\r"}, goThere, "s2"},
		{"home", []string{keyEnd, keyHome, "\r"}, goThere, "s1"},
		{"escape", []string{"x", keyEscape}, stay, "s1"},
		{"ctrl-c", []string{"\x03"}, stay, "s1"},
		{"filter by name", []string{"d", "o", "c", "\r"}, goThere, "s2"},
		{"filter by command", []string{"R", "E", "A", "D", "\r"}, goThere, "s2"},
		{"filter by two words", []string{"s", "h", " ", "u", "n", "r", "\r"}, goThere, "s3"},
		{"filter by wide letters", []string{"日", "\r"}, goThere, "s3"},
		{"nothing fits", []string{"q", "q", "\r"}, undone, ""},
		{"backspace", []string{"q", "日", "\x7f", "\b", "\r"}, goThere, "s1"},
		{"backspace of nothing", []string{"\x7f", "\r"}, goThere, "s1"},
		{"ctrl-u", []string{"q", "q", "\x15", "\r"}, goThere, "s1"},
		{"a busy one, once", []string{"o", "t", "h", "\r"}, undone, "s4"},
		{"a busy one, twice", []string{"o", "t", "h", "\r", "\r"}, goThere, "s4"},
		{"a busy one, and another thought", []string{"o", "t", "h", "\r", "\x7f", "\r"}, undone, "s4"},
		{"here", []string{"h", "e", "r", "e", "\r"}, stay, "s5"},
		{"the next that needs the user", []string{"!"}, goThere, "s3"},
		{"no key in a filter", []string{"q", "!", "\x7f", "\x7f", "\r"}, goThere, "s1"},
		{"no key of ours", []string{"\x1b[200~", "\x01", "\xff", "\x1b[<0;1;1M", "\r"}, goThere, "s1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := somePicker()
			var got verdict
			for _, key := range tt.keys {
				if n := keyLength([]byte(key)); n != len(key) && key != keyEscape {
					t.Errorf("key %q has length %d", key, n)
				}
				got = p.press(key)
			}
			if c, _ := p.selected(); got != tt.want || c.ID != tt.at {
				t.Errorf("got %v at %q, want %v at %q", got, c.ID, tt.want, tt.at)
			}
		})
	}
}

// The selected choice stays selected when the list changes, and is always shown.
func TestPickerFollowsTheList(t *testing.T) {
	p := somePicker()
	p.press(keyDown)
	p.choices = append([]Choice{{ID: "s0", Label: "new/sh", State: "running"}}, p.choices...)
	if c, _ := p.selected(); c.ID != "s2" {
		t.Errorf("selected is %q, want s2", c.ID)
	}
	p.choices = p.choices[:2]
	if c, _ := p.selected(); c.ID != "s0" {
		t.Errorf("selected is %q, want the first", c.ID)
	}
	p = &picker{listed: true}
	for i := range 100 {
		p.choices = append(p.choices, Choice{ID: fmt.Sprint(i), Label: fmt.Sprintf("workspace-%02d/sh", i), State: "running"})
	}
	for range 50 {
		p.press(keyDown)
		if c, _ := p.selected(); !strings.Contains(shownBy(p, 80, 24), c.Label) {
			t.Fatalf("%s is selected and not shown", c.Label)
		}
	}
	for range 45 {
		p.press(keyUp)
		if c, _ := p.selected(); !strings.Contains(shownBy(p, 80, 24), c.Label) {
			t.Fatalf("%s is selected and not shown", c.Label)
		}
	}
}

// Whatever is typed, the list takes all of it, and fits the terminal.
func FuzzPicker(f *testing.F) {
	f.Add([]byte("ab\x1b[A\x1b[B\r\x7f\x15日\x1b"), uint8(80), uint8(24))
	f.Add([]byte("\x1b[200~\x1bOB\x1bO\xff\x1b[5~\x1b[6~"), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, typed []byte, cols, rows uint8) {
		p := somePicker()
		for len(typed) > 0 {
			n := keyLength(typed)
			if n == 0 {
				n = len(typed)
			}
			p.press(string(typed[:n]))
			typed = typed[n:]
		}
		text := shownBy(p, max(1, int(cols)), max(1, int(rows)))
		if n := strings.Count(strings.TrimRight(text, "\n"), "\n"); n >= max(1, int(rows)) {
			t.Errorf("%d lines in %d rows:\n%s", n+1, rows, text)
		}
	})
}

// shownBy returns what a terminal shows. Its last column and row prove that
// nothing is wrapped and nothing scrolls.
func shownBy(p *picker, cols, rows int) string {
	screen := vt.New(vt.Options{Cols: cols, Rows: rows})
	screen.Write([]byte(p.draw(terminal.Size{Cols: uint16(cols), Rows: uint16(rows)})))
	return screen.Text(vt.TextOptions{Scrollback: true})
}

func TestPickerDraws(t *testing.T) {
	p := somePicker()
	p.hidden = 3
	want := `go to:
 fix/sh    running            sh -l
 docs/vim  running            vim README.md
 日本/sh   unreachable        sh
 other/sh  running, attached  sh
 here/sh   running, here      sh
`
	if got := shownBy(p, 80, 24); !strings.HasPrefix(got, want) || !strings.HasSuffix(strings.TrimSpace(got), "\n! goes to the next that needs you, the help  (3 ended: not listed)") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.choices[0].Label = strings.Repeat("long-", 30) + "/sh"
	p.choices[1].Runs = "evil \x1b[2J\n" + strings.Repeat("日本", 100)
	for cols := 1; cols <= 100; cols++ {
		for rows := 1; rows <= 12; rows++ {
			text := shownBy(p, cols, rows)
			if n := strings.Count(strings.TrimRight(text, "\n"), "\n"); n >= rows {
				t.Fatalf("%dx%d has %d lines:\n%s", cols, rows, n+1, text)
			}
			if cols > 20 && rows > 3 && !strings.Contains(text, "docs/vim") {
				t.Errorf("%dx%d lacks docs/vim:\n%s", cols, rows, text)
			}
		}
	}
}

// Names that begin alike are told apart when they are cut; a text is cut at its end, and so
// is what there is little room for.
func TestFitCell(t *testing.T) {
	for _, tt := range []struct {
		text string
		cols int
		want string
	}{
		{"task-with-a-long-name-1", 23, "task-with-a-long-name-1"},
		{"task-with-a-long-name-1", 16, "task-with-…ame-1"},
		{"task-with-a-long-name-12", 16, "task-with-…me-12"},
		{"middleman/task-with-a-rather-long-name-12", 30, "middleman/task-with-a…-name-12"},
		{"waiting: Bash: make all of it", 16, "waiting: Bash: …"},
		{"task-with-a-long-name-1", 8, "task-wi…"},
		{"日本語の名前がとても長い-1", 14, "日本語の…い-1"},
		{"日本語の名前がとても長い-1", 15, "日本語の…長い-1"},
		{"x", 0, ""},
	} {
		got := FitCell(tt.text, tt.cols)
		if got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.cols, got, tt.want)
		}
		if width := uniseg.StringWidth(got); width > tt.cols {
			t.Errorf("%q has %d columns, and there are %d", got, width, tt.cols)
		}
	}
}
