package await

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"middleman/terminal"
)

// maxHits limits the lines that Find returns of one session to those printed
// last.
const maxHits = 1000

// Query says which lines to find.
type Query struct {
	Text       string
	Regex      bool // Text is a regular expression (RE2)
	IgnoreCase bool
	Word       bool // only where no letter, digit or underscore is on either side
}

// Hit is a line of a session's output that matched.
type Hit struct {
	Offset uint64 // where the line began when it was last printed
	// Times is how often it was printed: a program that draws a screen prints a
	// line again and again.
	Times int
	Line  string
}

// Match returns the test for a line. An error says what is wrong with the query.
func (q Query) Match() (func(line []byte) bool, error) {
	if q.Text == "" {
		return nil, errors.New("there is no text to look for")
	}
	if !q.Regex && !q.IgnoreCase && !q.Word {
		return func(line []byte) bool { return bytes.Contains(line, []byte(q.Text)) }, nil
	}
	pattern := q.Text
	if !q.Regex {
		pattern = regexp.QuoteMeta(pattern)
	}
	if q.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	if q.Word {
		pattern = `(?:^|[^\pL\pN_])(?:` + pattern + `)(?:[^\pL\pN_]|$)`
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("regular expression: %w", err)
	}
	return re.Match, nil
}

// Find returns the lines of a session's kept output that match, each once, in
// the order in which they were last printed. It returns those that it found
// before an error too.
func Find(ctx context.Context, s terminal.Session, match func(line []byte) bool) ([]Hit, error) {
	from, err := OldestKept(ctx, s)
	if err != nil {
		return nil, err
	}
	byLine := map[string]*Hit{}
	lines := newLines(from, func(offset uint64, line []byte) {
		if !match(line) {
			return
		}
		hit := byLine[string(line)]
		if hit == nil {
			forgetOldest(byLine)
			hit = &Hit{Line: string(line)}
			byLine[hit.Line] = hit
		}
		hit.Offset = offset
		hit.Times++
	})
	err = (&Stream{
		Session: s, From: from,
		Write:   func(p []byte) error { _, err := lines.Write(p); return err },
		Missing: func(_, to uint64) { lines.skip(to) },
	}).Copy(ctx)
	lines.Flush()
	var all []Hit
	for _, hit := range byLine {
		all = append(all, *hit)
	}
	slices.SortFunc(all, func(a, b Hit) int { return cmp.Compare(a.Offset, b.Offset) })
	return all[max(0, len(all)-maxHits):], err
}

// forgetOldest limits the size of byLine: at twice maxHits it keeps the lines
// that were printed last.
func forgetOldest(byLine map[string]*Hit) {
	if len(byLine) < 2*maxHits {
		return
	}
	offsets := make([]uint64, 0, len(byLine))
	for _, hit := range byLine {
		offsets = append(offsets, hit.Offset)
	}
	slices.Sort(offsets)
	from := offsets[maxHits]
	for line, hit := range byLine {
		if hit.Offset < from {
			delete(byLine, line)
		}
	}
}

// OldestKept returns the offset where the kept output begins. It reads the
// journal and does not ask the session, which may not answer.
func OldestKept(ctx context.Context, s terminal.Session) (uint64, error) {
	r, err := s.Output(ctx, 0)
	if trimmed, ok := errors.AsType[*terminal.TrimmedError](err); ok {
		return trimmed.Oldest, nil
	}
	if err != nil {
		return 0, err
	}
	return 0, r.Close()
}
