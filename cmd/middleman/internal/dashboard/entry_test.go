package dashboard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
)

// key returns the press of a key with this name.
func key(name string) tea.KeyPressMsg {
	codes := map[string]tea.Key{
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
		"backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete}, "space": {Code: tea.KeySpace, Text: " "},
		"ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+k": {Code: 'k', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
		"f1": {Code: tea.KeyF1}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape},
		"tab": {Code: tea.KeyTab},
	}
	if k, ok := codes[name]; ok {
		return tea.KeyPressMsg(k)
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func TestEntry(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		keys       []string
	}{
		{"letters", "a日b", []string{"a", "日", "b"}},
		{"a blank", "a b", []string{"a", "space", "b"}},
		{"in the middle", "axb", []string{"a", "b", "left", "x"}},
		{"a cluster is one", "a", []string{"a", "👩‍🚀", "backspace"}},
		{"home and delete", "b", []string{"a", "b", "home", "delete"}},
		{"home and end", "xaby", []string{"a", "b", "home", "x", "end", "y"}},
		{"to the left", "b", []string{"a", "b", "left", "ctrl+u"}},
		{"to the right", "a", []string{"a", "b", "left", "ctrl+k"}},
		{"a word", "one ", []string{"o", "n", "e", "space", "t", "w", "o", "ctrl+w"}},
		{"at the ends", "", []string{"left", "right", "backspace", "delete", "ctrl+w"}},
		{"no text", "a", []string{"a", "f1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e entry
			for _, name := range tt.keys {
				e.press(key(name))
			}
			if got := e.text(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What is pasted is one line, without a key in it, and bounded.
func TestEntryPaste(t *testing.T) {
	var e entry
	e.insert("rm\r\n-rf\x1b[A\x03\u009b2J\xff\ttab")
	if got, want := e.text(), "rm  -rf [A  2J tab"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	before := e.text()
	if problem := e.insert(strings.Repeat("x", maxEntry)); problem == "" || e.text() != before {
		t.Errorf("too much text is %q, and the entry has %d bytes", problem, len(e.text()))
	}
}

// The cursor is always in the part that is drawn.
func TestEntryDraws(t *testing.T) {
	e := entry{before: strings.Repeat("日本x", 30), after: strings.Repeat("é", 30)}
	for cols := 1; cols < 100; cols++ {
		text, at := e.draw(cols)
		if n := uniseg.StringWidth(text); n > cols || at < 0 || at >= cols {
			t.Errorf("%d columns: %q has %d, the cursor is at %d", cols, text, n, at)
		}
	}
}
