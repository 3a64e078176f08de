package dashboard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/viewer"
)

// page is a text over the list, which may ask a question.
type page struct {
	title string
	lines []string
	wraps bool // lines that are too long go on in the next, instead of being cut
	scroller
	ask string
	yes func() tea.Cmd // what y does; nil if nothing is asked
}

// scroller is which lines of a text are shown.
type scroller struct {
	top  int // the first of them
	rows int // that were shown last
}

// move takes a key that moves in a text of so many lines.
func (s *scroller) move(key string, lines int) {
	end := lines - s.rows
	switch key {
	case "up", "k":
		s.top--
	case "down", "j", "enter":
		s.top++
	case "pgup", "b":
		s.top -= s.rows
	case "pgdown", "space":
		s.top += s.rows
	case "home", "g":
		s.top = 0
	case "end", "G":
		s.top = end
	}
	s.top = max(0, min(s.top, end))
}

// part returns the lines that are shown on so many rows.
func (s *scroller) part(text []string, rows int) []string {
	s.rows = max(1, rows)
	s.top = max(0, min(s.top, len(text)-s.rows))
	return text[s.top:min(len(text), s.top+s.rows)]
}

// newPage makes a page of a text that is safe to print. It may have SGR sequences.
func newPage(title, text string) *page {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = untab(line)
	}
	return &page{title: title, lines: lines}
}

// newText is newPage for a text whose every word counts.
func newText(title, text string) *page {
	p := newPage(title, text)
	p.wraps = true
	return p
}

// fold breaks lines that have more than cols columns, at blanks where it can.
func fold(lines []string, cols int) (folded []string) {
	for _, line := range lines {
		for {
			head := cut(line, cols)
			if len(head) == len(line) || head == "" {
				break
			}
			if at := strings.LastIndexByte(head, ' '); at > len(head)/2 {
				head = head[:at]
			}
			folded = append(folded, head)
			line = strings.TrimPrefix(line[len(head):], " ")
		}
		folded = append(folded, line)
	}
	return folded
}

// untab replaces tabs by blanks: they have no width of their own in a line.
func untab(line string) string {
	const stop = 8
	var b strings.Builder
	at, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\t':
			n := stop - at%stop
			b.WriteString(strings.Repeat(" ", n))
			at += n
			continue
		case r == 0x1b:
			escape = true
		case escape:
			escape = r != 'm'
		default:
			at++
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shown returns the lines that are shown on so many columns.
func (p *page) shown(cols int) []string {
	if p.wraps {
		return fold(p.lines, cols)
	}
	return p.lines
}

func (p *page) paste(*dashboard, string) {}

func (p *page) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "y":
		if p.yes != nil {
			d.pane = nil
			return p.yes()
		}
	case "n", "q", "esc":
		d.pane = nil
	default:
		p.move(k.String(), len(p.shown(d.cols)))
	}
	return nil
}

func (p *page) draw(d *dashboard) ([]string, *tea.Cursor) {
	keys := "Esc goes back"
	if p.yes != nil {
		keys = p.ask
	}
	text := p.shown(d.cols)
	part := p.part(text, d.rows-2)
	if len(text) > len(part) {
		keys += "  Up Down PgUp PgDn: more"
	}
	lines := []string{rule(p.title, d.cols)}
	for _, line := range part {
		lines = append(lines, shorten(line, d.cols))
	}
	for len(lines) < d.rows-1 {
		lines = append(lines, "")
	}
	return append(lines, d.foot(keys)), nil
}

// shorten cuts a line that may have SGR sequences.
func shorten(line string, cols int) string {
	if !strings.Contains(line, "\x1b") {
		return viewer.Fit(line, cols)
	}
	head, rest, _ := strings.Cut(line, "m")
	body, _, _ := strings.Cut(rest, "\x1b")
	return head + "m" + viewer.Fit(body, cols) + "\x1b[m"
}
