package dashboard

import (
	"cmp"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/manual"
)

// typed takes what was typed. Escape and another key at once look like that key with Alt,
// to which nothing is bound here: they are taken for two keys, but where text is typed,
// which an Escape would throw away.
func (d *dashboard) typed(k tea.KeyPressMsg) tea.Cmd {
	if !k.Mod.Contains(tea.ModAlt) || d.typesText() {
		return d.press(k)
	}
	first := d.press(tea.KeyPressMsg{Code: tea.KeyEscape})
	k.Mod &^= tea.ModAlt
	if k.Mod&^tea.ModShift == 0 && unicode.IsPrint(k.Code) {
		k.Text = string(cmp.Or(k.ShiftedCode, k.Code))
	}
	return tea.Batch(first, d.press(k))
}

// typesText reports whether keys are text.
func (d *dashboard) typesText() bool {
	switch p := d.pane.(type) {
	case nil, *page, *menu:
		return false
	case *request:
		return p.reason != nil
	}
	return true
}

// press takes a key.
func (d *dashboard) press(k tea.KeyPressMsg) tea.Cmd {
	sure := d.sure
	d.note, d.sure = "", ""
	d.letGo(k.String())
	switch k.String() {
	case "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		if !canSuspend() {
			d.note = "no shell would bring it back: this program is the first one on its terminal"
			return nil
		}
		d.hide()
		return tea.Suspend
	}
	if d.pane != nil {
		return d.pane.press(d, k)
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "up", "k", "ctrl+p":
		d.choose(d.index() - 1)
	case "down", "j", "ctrl+n":
		d.choose(d.index() + 1)
	case "pgup", "ctrl+b":
		d.choose(d.index() - d.listRows())
	case "pgdown", "ctrl+f":
		d.choose(d.index() + d.listRows())
	case "home", "g":
		d.choose(0)
	case "end", "G":
		d.choose(len(d.table) - 1)
	case "!":
		d.next()
	case "?":
		d.pane = newPage("Help", manual.DashboardKeys)
	case "r":
		d.readAgain()
	case "esc":
		d.setFilter("")
	default:
		return d.act(k.String(), sure)
	}
	return nil
}

// readAgain asks for the list.
func (d *dashboard) readAgain() {
	select {
	case d.again <- struct{}{}:
	default:
	}
}

// setFilter changes which rows are shown.
func (d *dashboard) setFilter(words string) {
	d.filter = words
	d.sift()
}
