package dashboard

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// fresh is the workspace that the user makes. Until it is selected, no key acts on the
// row that was selected before: who types on means the new one.
type fresh struct {
	making bool   // its command runs
	wanted string // its name, until it is selected
	lists  int    // how many whole lists came since it was made
	held   bool   // an Enter waits for it
}

// awaited reports whether there is one that is not selected yet.
func (f fresh) awaited() bool { return f.making || f.wanted != "" }

// holds takes a key that acts on a row while a new workspace is awaited: Enter waits for
// that, others do nothing. It reports whether the key was one of these.
func (d *dashboard) holds(key string) bool {
	switch {
	case key == "enter":
		d.fresh.held, d.later = true, press{}
		d.note = "the new workspace is attached when it is made; Esc does not attach"
	case slices.Contains([]string{"space", "a", "x", "d", "m", "D"}, key):
		d.note = "not done: a new workspace is made, and selected then"
	default:
		return false
	}
	return true
}

// letGo forgets the Enter that waits, when another key is pressed: the reader of keys
// reads on then by itself.
func (d *dashboard) letGo(key string) {
	if key != "enter" {
		d.fresh.held = false
	}
}

// forgetFresh is for a workspace that was not made, or is not listed.
func (d *dashboard) forgetFresh() {
	if d.fresh.held {
		d.input.taken(false)
	}
	d.fresh = fresh{}
}

// tookEnter tells the reader of keys what became of an Enter.
func (d *dashboard) tookEnter() {
	if d.fresh.held {
		d.input.keep()
		return
	}
	d.input.taken(d.away)
}

// welcome selects the new workspace once it is listed with its session, shows it if the
// filter hides it, and acts on the Enter that waits for it. A list that was read before
// it was made may come after that, so the second one decides that it is not there.
func (d *dashboard) welcome() tea.Cmd {
	if _, filters := d.pane.(*search); d.fresh.wanted == "" || filters {
		return nil
	}
	at := slices.IndexFunc(d.all, func(r row) bool { return r.workspace.Label == d.fresh.wanted })
	if d.fresh.lists < 2 && (at < 0 || !d.all[at].hasSession()) {
		return nil
	}
	if at < 0 {
		d.note = d.fresh.wanted + " was made, and is not in the list any more"
		d.forgetFresh()
		return nil
	}
	held := d.fresh.held
	d.fresh = fresh{}
	d.at = d.all[at].id
	if d.sift(); d.at != d.all[at].id { // the filter hides it
		d.at = d.all[at].id
		d.setFilter("")
	}
	if !held {
		return nil
	}
	var cmd tea.Cmd
	if d.pane == nil {
		cmd = d.act("enter", "")
	}
	d.input.taken(d.away)
	return cmd
}
