package await

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"middleman/terminal/escape"
)

// Match finds an awaited text. It returns where that begins and ends in p, or
// nil.
type Match func(p []byte) []int

// maxText is how long a text to wait for may be: a longer one could be cut by
// printed.
const maxText = recentBytes / 2

// Text returns a Match for a text as it is, of up to 4 KiB.
func Text(text string) (Match, error) {
	switch {
	case text == "":
		return nil, errors.New("the text to wait for is empty")
	case len(text) > maxText:
		return nil, fmt.Errorf("the text to wait for has %d bytes, at most %d can be waited for", len(text), maxText)
	}
	want := []byte(text)
	return func(p []byte) []int {
		at := bytes.Index(p, want)
		if at < 0 {
			return nil
		}
		return []int{at, at + len(want)}
	}, nil
}

// Regex returns a Match for a regular expression of package regexp, in which ^
// and $ match at each line.
func Regex(pattern string) (Match, error) {
	if pattern == "" {
		return nil, errors.New("the regular expression to wait for is empty")
	}
	expr, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return nil, fmt.Errorf("not a regular expression: %w", err)
	}
	return expr.FindIndex, nil
}

const (
	// recentBytes is how much printed text is kept for matches that arrive in
	// pieces. All of it is searched again with each piece.
	recentBytes = 8 << 10
	// lineBytes is how far the next line is looked for where that text is cut.
	lineBytes = recentBytes / 2
)

// printed is the text that was printed last.
type printed struct {
	match Match
	plain io.Writer // removes control sequences
	text  bytes.Buffer
}

func newPrinted(match Match) *printed {
	p := &printed{match: match}
	p.plain = escape.PlainText(&p.text)
	return p
}

// take takes output and returns the text that matches in what was printed last.
func (p *printed) take(output []byte) (found string, ok bool) {
	p.plain.Write(output) // never fails: a bytes.Buffer does not
	if at := p.match(p.text.Bytes()); at != nil {
		return string(p.text.Bytes()[at[0]:at[1]]), true
	}
	p.cut()
	return "", false
}

// cut drops the oldest text, up to the beginning of a line if one is near: ^
// must not match within a line.
func (p *printed) cut() {
	over := p.text.Len() - recentBytes
	if over <= 0 {
		return
	}
	rest := p.text.Bytes()[over:]
	if at := bytes.IndexByte(rest[:min(len(rest), lineBytes)], '\n'); at >= 0 {
		over += at + 1
	}
	p.text.Next(over)
}
