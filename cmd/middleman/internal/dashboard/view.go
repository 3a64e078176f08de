package dashboard

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/attention"
	"middleman/internal/plaintext"
)

// View draws the dashboard.
func (d *dashboard) View() tea.View {
	v := tea.View{AltScreen: true}
	if d.cols < 1 || d.rows < 1 {
		return v
	}
	var lines []string
	if d.pane != nil {
		lines, v.Cursor = d.pane.draw(d)
	} else {
		lines = d.draw()
	}
	d.wrapNote(lines)
	text := strings.Join(lines[:min(len(lines), d.rows)], "\n")
	if d.plain {
		text = uncoloured(text)
	}
	v.SetContent(text)
	return v
}

// noteLines is how many lines a note has at most.
const noteLines = 3

// wrapNote gives a note in the last line that does not fit there the lines above it too:
// its end is often what to do.
func (d *dashboard) wrapNote(lines []string) {
	said := d.said()
	whole := fold([]string{said}, d.cols)
	if n := min(len(whole), noteLines); n > 1 && d.rows >= 12 && len(lines) == d.rows && lines[d.rows-1] == viewer.Fit(said, d.cols) {
		copy(lines[d.rows-n:], whole[:n])
		if n < len(whole) {
			lines[d.rows-1] = viewer.Fit(strings.Join(whole[n-1:], " "), d.cols)
		}
	}
}

// draw returns the lines of the list and of the selected session's screen.
func (d *dashboard) draw() []string {
	lines := append([]string{d.head()}, d.drawList(d.listRows())...)
	if left := d.rows - len(lines) - 1; left >= 2 {
		lines = append(lines, d.drawScreen(left)...)
	}
	for len(lines) < d.rows-1 {
		lines = append(lines, "")
	}
	keys := []string{"Enter attach", "Space reply", "n new", "/ find", "? help"}
	if r, ok := d.selected(); ok && len(r.asks) > 0 {
		keys = slices.Insert(keys, 0, "a answer")
	}
	for len(strings.Join(keys, "  ")) > d.cols && len(keys) > 2 {
		keys = slices.Delete(keys, len(keys)-2, len(keys)-1) // help has them all
	}
	return append(lines, d.foot(strings.Join(keys, "  ")))
}

// head is the first line of the screen.
func (d *dashboard) head() string {
	right := ""
	switch {
	case !d.listed:
		right = "reading the list..."
	case !d.server:
		right = "no server runs: S starts it"
	}
	left := "middleman"
	if d.listed {
		left += ": " + d.counts()
	}
	if d.filter != "" {
		left += "; only " + plaintext.Line(d.filter)
	}
	return "\x1b[1m" + between(left, right, d.cols) + "\x1b[m"
}

// foot is the last line: a note, or the keys.
func (d *dashboard) foot(keys string) string {
	if said := d.said(); said != "" {
		return viewer.Fit(said, d.cols)
	}
	return "\x1b[2m" + viewer.Fit(keys, d.cols) + "\x1b[m"
}

// listRows is how many lines the list has: what it needs, but at least a third of
// the screen is left to the session's.
func (d *dashboard) listRows() int {
	need := max(1, len(d.table)+d.headings())
	room := d.rows - 2
	if d.rows >= 12 {
		room -= max(4, d.rows/3)
	}
	return max(1, min(need, room))
}

// headings counts the groups that have rows.
func (d *dashboard) headings() int {
	n := 0
	for i, r := range d.table {
		if i == 0 || d.table[i-1].group != r.group {
			n++
		}
	}
	return n
}

// drawList returns n lines of the list, with the selected row in them.
func (d *dashboard) drawList(n int) []string {
	if len(d.table) == 0 {
		return append([]string{d.nothing()}, make([]string, n-1)...)
	}
	at := d.index()
	// heads and rows in one sequence: a number from 0 is a row, below it a group.
	var all []int
	selected, count := 0, [attention.Groups]int{}
	for i, r := range d.table {
		if count[r.group]++; count[r.group] == 1 {
			all = append(all, -1-int(r.group))
		}
		if i == at {
			selected = len(all)
		}
		all = append(all, i)
	}
	d.top = max(0, min(d.top, selected-1, len(all)-n), selected-n+1)
	widths := d.widths.fit(d.cols)
	var lines []string
	for _, i := range all[d.top:min(len(all), d.top+n)] {
		if i < 0 {
			g := attention.Group(-1 - i)
			lines = append(lines, d.heading(g, count[g]))
			continue
		}
		lines = append(lines, d.table[i].line(widths, d.cols, i == at))
	}
	return lines
}

func (d *dashboard) heading(g attention.Group, n int) string {
	style := "\x1b[1m"
	if g == attention.NeedsYou {
		style = "\x1b[1;33m"
	}
	return style + viewer.Fit(fmt.Sprintf("%s (%d)", g, n), d.cols) + "\x1b[m"
}

// nothing says why there is no row.
func (d *dashboard) nothing() string {
	text := "no workspace yet: n makes one"
	switch {
	case !d.listed:
		text = ""
	case d.filter != "":
		text = "nothing has this in its line: Enter searches what was printed, Esc shows all"
	}
	return viewer.Fit(text, d.cols)
}

// drawScreen returns n lines: what is selected, and what it asks to be allowed or
// the end of its screen.
func (d *dashboard) drawScreen(n int) []string {
	r, ok := d.selected()
	if !ok {
		return make([]string, n)
	}
	lines := []string{rule(d.about(r), d.cols)}
	if len(r.asks) > 0 {
		return append(lines, askedLines(r.asks[0], d.cols, n-1)...)
	}
	return append(lines, d.screenLines(r, n-1)...)
}

// about says in a line what a row is.
func (d *dashboard) about(r row) string {
	var parts []string
	for _, i := range []int{colName, colRepo, colBranch, colWork, colRuns} {
		if cell := r.cells[i]; cell != "" && cell != "-" {
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, " · ")
}

// screenLines returns n lines of the selected session's screen.
func (d *dashboard) screenLines(r row, n int) []string {
	text := ""
	switch s := d.preview.screen; {
	case !r.hasSession():
		text = "no session"
	case s == nil || d.preview.id != r.id:
	case s.err != nil:
		text = "its screen could not be read: " + plaintext.Line(s.err.Error())
	default:
		return s.lines(d.cols, n)
	}
	return append([]string{viewer.Fit(text, d.cols)}, make([]string, max(0, n-1))...)
}
