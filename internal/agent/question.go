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
	if after := texts(rows[at+1:], 1); len(after) > 0 && strings.HasPrefix(after[0], "$ ") {
		return oneLine(text + " " + after[0])
	}
	if about := subject(rows[max(0, at-maxDialog):at]); about != "" {
		return oneLine(about + ": " + text)
	}
	return oneLine(text)
}

// subject returns the first of the rows after the last border, "" if there is none.
func subject(above []string) string {
	top := lastRow(above, border())
	if top < 0 {
		return ""
	}
	return strings.Join(texts(above[top+1:], maxSubject), ": ")
}

// texts returns the first n of the rows that are not blank.
func texts(rows []string, n int) (list []string) {
	for _, row := range rows {
		if text := bare(row); text != "" && len(list) < n {
			list = append(list, text)
		}
	}
	return list
}

// bare returns the text of a row without the border beside it.
func bare(row string) string { return strings.Trim(row, " \t│┃|▌") }
