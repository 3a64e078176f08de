package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Where a dialog says what it is about, besides its question: Claude Code between the rule
// or border at its top and the question, Codex in a row after that begins with "$".
const (
	maxDialog  = 14 // rows from the top of a dialog to its question
	maxSubject = 2  // rows that are told
)

var border = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[╭┌]?[─━╌]{8,}[╮┐]?\s*$`) })

// question returns what a dialog asks and about what, or what a limit is: the row that the
// first of the rule's expressions matches, on one line.
func (m matcher) question(rows []string) string {
	asked := m.First(rows)
	text := bare(asked)
	at := -1
	for i, row := range slices.Backward(rows) {
		if strings.TrimRight(row, " ") == strings.TrimRight(asked, " ") {
			at = i
			break
		}
	}
	if at < 0 || m.kind != Permission {
		return oneLine(text)
	}
	if after := firstText(rows[at+1:]); strings.HasPrefix(after, "$ ") {
		return oneLine(text + " " + after)
	}
	if about := subject(rows[max(0, at-maxDialog):at]); about != "" {
		return oneLine(about + ": " + text)
	}
	return oneLine(text)
}

// subject returns the first of the rows after the last border, "" if there is none.
func subject(above []string) string {
	top := -1
	for i, row := range slices.Backward(above) {
		if border().MatchString(row) {
			top = i
			break
		}
	}
	if top < 0 {
		return ""
	}
	var told []string
	for _, row := range above[top+1:] {
		if text := bare(row); text != "" && len(told) < maxSubject {
			told = append(told, text)
		}
	}
	return strings.Join(told, ": ")
}

// firstText returns the first of the rows that is not blank.
func firstText(rows []string) string {
	for _, row := range rows {
		if text := bare(row); text != "" {
			return text
		}
	}
	return ""
}

// bare returns the text of a row without the border beside it.
func bare(row string) string { return strings.Trim(row, " \t│┃|▌") }
