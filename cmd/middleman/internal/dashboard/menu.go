package dashboard

import (
	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/viewer"
)

// menu is a list from which the user chooses.
type menu struct {
	title, ask string
	items      []item
	at, top    int
}

// item is a line of a menu, which is safe to print, and what Enter does with it.
type item struct {
	line   string
	choose func() tea.Cmd
}

func (m *menu) paste(*dashboard, string) {}

func (m *menu) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "up", "k":
		m.at--
	case "down", "j":
		m.at++
	case "home", "g":
		m.at = 0
	case "end", "G":
		m.at = len(m.items) - 1
	case "pgup":
		m.at -= d.rows - 2
	case "pgdown":
		m.at += d.rows - 2
	case "enter":
		d.pane = nil
		return m.items[m.at].choose()
	case "q", "esc":
		d.pane = nil
	}
	m.at = max(0, min(m.at, len(m.items)-1))
	return nil
}

func (m *menu) draw(d *dashboard) ([]string, *tea.Cursor) {
	n := max(1, d.rows-2)
	m.top = max(0, min(m.top, m.at, len(m.items)-n), m.at-n+1)
	lines := []string{rule(m.title, d.cols)}
	for i := m.top; i < min(len(m.items), m.top+n); i++ {
		lines = append(lines, highlighted("  "+m.items[i].line, d.cols, i == m.at))
	}
	for len(lines) < d.rows-1 {
		lines = append(lines, "")
	}
	return append(lines, d.foot(m.ask)), nil
}

// highlighted cuts a line that begins with a blank, and marks the selected one.
func highlighted(line string, cols int, selected bool) string {
	if !selected {
		return viewer.Fit(line, cols)
	}
	return "\x1b[7m>" + viewer.Pad(viewer.Fit(line[1:], cols-1), cols-1) + "\x1b[m"
}
