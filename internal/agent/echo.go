package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// folded matches what agents show in place of a long paste.
var folded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\[pasted?\b[^\]]*\]`) })

// newRow returns a row of the screen after a text was typed that is neither a row
// of the screen before nor one of these with a part of the text in it, or "" if
// there is none. Only letters and punctuation count: a clock or a spinner is not
// new. So what a program has drawn besides the text that it was given, such as a
// dialog, is found without rules for it.
func newRow(before, after []string, text string) string {
	text = solid(text)
	old := make([]string, 0, len(before))
	for _, row := range before {
		if l := solid(row); l != "" {
			old = append(old, l)
		}
	}
	take := func(is func(old string) bool) bool {
		i := slices.IndexFunc(old, is)
		if i >= 0 {
			old = slices.Delete(old, i, i+1)
		}
		return i >= 0
	}
	var changed []string
	for _, row := range after {
		l := solid(folded().ReplaceAllLiteralString(row, ""))
		if l != "" && !take(func(o string) bool { return o == l }) {
			changed = append(changed, row)
		}
	}
	for _, row := range changed {
		l := solid(folded().ReplaceAllLiteralString(row, ""))
		if !strings.Contains(text, strings.TrimFunc(l, unicode.IsPunct)) && !take(func(o string) bool { return inserted(o, l, text) }) {
			return strings.TrimSpace(row)
		}
	}
	return ""
}

// inserted reports whether row is old with a part of text at one place in it.
func inserted(old, row, text string) bool {
	more := len(row) - len(old)
	if more < 0 {
		return false
	}
	for at := 0; at <= len(old) && old[:at] == row[:at]; at++ {
		if old[at:] == row[at+more:] && strings.Contains(text, row[at:at+more]) {
			return true
		}
	}
	return false
}

// solid returns what of a text tells a clock, a spinner or a frame from words: its
// letters and punctuation.
func solid(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsPunct(r) {
			return r
		}
		return -1
	}, text)
}
