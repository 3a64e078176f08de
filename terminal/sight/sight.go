// Package sight matches a terminal's screen and title against patterns, such as
// those of a dialog. Whoever starts a session knows what its program's screens mean,
// and the session's owner compares them; both use this package, so that they agree.
package sight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"middleman/terminal"
)

// Matcher is a terminal.Sight whose expressions are compiled. It is safe for
// concurrent use.
type Matcher struct {
	title           *regexp.Regexp // nil for any
	screen, without []*regexp.Regexp
	rows            int
}

// Compile returns the matcher of s, or an error that names the expression that is
// not valid. A Sight without any expression is an error, since it would hold for
// every screen.
func Compile(s terminal.Sight) (m Matcher, err error) {
	if s.Title == "" && len(s.Screen) == 0 {
		return m, fmt.Errorf("a description of a screen says neither a title nor a row")
	}
	m.rows = s.Rows
	if s.Title != "" {
		if m.title, err = regexp.Compile(s.Title); err != nil {
			return m, err
		}
	}
	if m.screen, err = compiled(s.Screen); err != nil {
		return m, err
	}
	m.without, err = compiled(s.Without)
	return m, err
}

func compiled(list []string) ([]*regexp.Regexp, error) {
	out := make([]*regexp.Regexp, len(list))
	for i, text := range list {
		var err error
		if out[i], err = regexp.Compile(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ByTitle reports whether the title alone decides.
func (m Matcher) ByTitle() bool { return len(m.screen) == 0 }

// Holds reports whether the screen is the described one. screen are its rows, the
// top one first.
func (m Matcher) Holds(title string, screen []string) bool {
	if m.title != nil && !m.title.MatchString(title) {
		return false
	}
	if m.ByTitle() {
		return true
	}
	rows := last(screen, m.rows)
	whole := joined(screen, m.rows)
	for _, want := range m.screen {
		if !slices.ContainsFunc(rows, want.MatchString) && !slices.ContainsFunc(whole, want.MatchString) {
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

// First returns the row that the first expression of Screen matches, or "".
func (m Matcher) First(screen []string) string {
	if m.ByTitle() {
		return ""
	}
	for _, rows := range [][]string{last(screen, m.rows), joined(screen, m.rows)} {
		if i := slices.IndexFunc(rows, m.screen[0].MatchString); i >= 0 {
			return rows[i]
		}
	}
	return ""
}

// wrapRows is over how many rows a line of the screen may be wrapped to be matched.
const wrapRows = 3

// joined returns the lines that may be wrapped to some of the last n rows that are not
// blank: between words, and within one. Frames at the sides are left out.
func joined(screen []string, n int) []string {
	const sides = " \t│┃|▌"
	rows := last(screen, n)
	var out []string
	for begin := range rows {
		words := strings.TrimRight(rows[begin], sides)
		one := words
		for _, row := range rows[begin+1 : min(begin+wrapRows, len(rows))] {
			row = strings.Trim(row, sides)
			words, one = words+" "+row, one+row
			out = append(out, words, one)
		}
	}
	return out
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
