package sight

import (
	"strings"
	"testing"

	"middleman/terminal"
)

func TestHolds(t *testing.T) {
	dialog := terminal.Sight{Screen: []string{`^Proceed\?`, `^> 1\.`}, Without: []string{`^prompt>`}, Rows: 3}
	for _, tt := range []struct {
		name          string
		is            terminal.Sight
		title, screen string
		want          bool
	}{
		{"a title", terminal.Sight{Title: "^busy"}, "busy with it", "", true},
		{"another title", terminal.Sight{Title: "^busy"}, "not busy", "", false},
		{"all rows", dialog, "", "Proceed?\n> 1. Yes\n", true},
		{"blank rows below", dialog, "", "Proceed?\n> 1. Yes\n\n   \n", true},
		{"one of two rows", dialog, "", "Proceed?\n", false},
		{"a row that must not be", dialog, "", "Proceed?\n> 1. Yes\nprompt>\n", false},
		{"too far up", dialog, "", "Proceed?\n> 1. Yes\na\nb\n", false},
		{"both, and another title", terminal.Sight{Title: "^a", Screen: []string{"x"}, Rows: 1}, "b", "x", false},
		{"both", terminal.Sight{Title: "^a", Screen: []string{"x"}, Rows: 1}, "a", "x", true},
	} {
		m, err := Compile(tt.is)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Holds(tt.title, strings.Split(tt.screen, "\n")); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFirst(t *testing.T) {
	m, err := Compile(terminal.Sight{Screen: []string{`Proceed`}, Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.First([]string{"Proceed once?", "a", "Proceed? ", "b"}); got != "Proceed?" {
		t.Errorf("%q", got)
	}
	if got := m.First([]string{"Proceed?", "a", "b"}); got != "" {
		t.Errorf("%q, which is too far up", got)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, s := range map[string]terminal.Sight{
		"nothing": {Without: []string{"x"}}, "title": {Title: "("}, "screen": {Screen: []string{"["}}, "without": {Screen: []string{"x"}, Without: []string{"*"}},
	} {
		if _, err := Compile(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
