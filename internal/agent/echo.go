package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// folded matches what agents show in place of a long paste.
var folded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\[pasted?\b[^\]]*\]`) })

// newRow returns a row of the screen after a text was typed that is neither a row
// of the screen before nor one of these with a part of the text in it, or "" if
// there is none. Only letters and punctuation count: a clock or a spinner is not
// new. So what a program has drawn besides the text that it was given, such as a
// dialog, is found without rules for it.
//
// with is a row in which the text stands beside another one, as it does if somebody
// else has typed there, or "" if there is none.
func newRow(before, after []string, text string) (row, with string) {
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
		short := folded().ReplaceAllLiteralString(row, "")
		l := solid(short)
		if strings.Contains(text, strings.TrimFunc(l, unicode.IsPunct)) {
			continue
		}
		at, more := -1, 0
		if !take(func(o string) bool { at, more = inserted(o, l, text); return at >= 0 }) {
			return strings.TrimSpace(row), ""
		}
		if lead, behind := around(short, at, more); with == "" && more > 0 && beside(lead, behind) {
			with = strings.TrimSpace(row)
		}
	}
	return "", cmp.Or(with, besideFolded(before, after))
}

// besideFolded returns a new row in which a long paste is shown folded beside another
// text, or another text beside a paste that was there before, or "" if there is none.
func besideFolded(before, after []string) string {
	for _, row := range after {
		pastes := folded().FindAllStringIndex(row, -1)
		if len(pastes) == 0 || slices.Contains(before, row) {
			continue
		}
		last := pastes[len(pastes)-1]
		lead, paste, behind := row[:last[0]], row[last[0]:last[1]], row[last[1]:]
		isOld := func(old string) bool { return strings.Contains(old, lead+paste) }
		if beside(lead, behind) || solid(behind) != "" && slices.ContainsFunc(before, isOld) {
			return strings.TrimSpace(row)
		}
	}
	return ""
}

// inserted returns where in row a part of text stands, and how long it is, if row is
// old with that in it; else at is -1.
func inserted(old, row, text string) (at, more int) {
	more = len(row) - len(old)
	if more < 0 {
		return -1, 0
	}
	for at := 0; at <= len(old) && old[:at] == row[:at]; at++ {
		if old[at:] == row[at+more:] && strings.Contains(text, row[at:at+more]) {
			return at, more
		}
	}
	return -1, 0
}

// marks end what stands before a program's input, such as "ask>".
const marks = ">❯›»▸▶→$%#λ│┃┆║|▌▎▏"

// around returns what stands in row before and behind more bytes of its solid form,
// from at on.
func around(row string, at, more int) (lead, behind string) {
	n, from, to := 0, len(row), len(row)
	for i, r := range row {
		if n == at+more {
			to = i
			break
		}
		if size := len(solid(string(r))); size > 0 {
			if n == at {
				from = i
			}
			n += size
		}
	}
	return row[:from], row[to:]
}

// beside reports whether what stands before and behind an input is another text: words
// without a mark at their end, or a letter right behind it. In a row of an empty input
// there is a mark such as "ask>" or "[3]:", a frame or nothing.
func beside(lead, behind string) bool {
	if r, _ := utf8.DecodeRuneInString(behind); unicode.IsLetter(r) {
		return true
	}
	words := strings.Fields(lead)
	if len(words) == 0 {
		return false
	}
	word := words[len(words)-1]
	last, _ := utf8.DecodeLastRuneInString(word)
	mark := strings.ContainsRune(marks, last) || unicode.IsPunct(last) && (len(words) == 1 || !strings.ContainsFunc(word, unicode.IsLetter))
	return solid(lead) != "" && !mark
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
