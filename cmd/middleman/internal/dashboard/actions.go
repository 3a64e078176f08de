package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/plaintext"
)

// act does what a key does with the selected row.
func (d *dashboard) act(key, sure string) tea.Cmd {
	if d.fresh.awaited() && d.holds(key) {
		return nil
	}
	if d.doing != "" && !slices.Contains([]string{"/", "enter", "space"}, key) {
		d.later = press{key, d.at} // one after the other
		return nil
	}
	switch key {
	case "/":
		d.pane = &search{entry: entry{before: d.filter}}
		return nil
	case "n":
		d.pane = d.newForm()
		return nil
	case "u":
		return d.restore()
	case "S":
		if d.server {
			d.note = "a server runs already"
			return nil
		}
		return d.run("starting the server", d.say("the server runs"), "server", "start")
	}
	r, ok := d.selected()
	if !ok {
		return nil
	}
	switch key {
	case "a":
		return d.openRequest(r)
	case "enter", "space", "x":
		return d.actOnSession(key, r, sure)
	case "d", "m", "D":
		return d.actOnWorkspace(key, r)
	}
	return nil
}

// press is a key and the row that it was pressed on.
type press struct{ key, row string }

// actLater acts on the last key that was pressed while something was done, if its row is
// still selected, and if what was done shows nothing that would take the keys to come.
func (d *dashboard) actLater() tea.Cmd {
	p := d.later
	d.later = press{}
	if p.key == "" || p.row != d.at || d.pane != nil || d.doing != "" {
		return nil
	}
	return d.act(p.key, "")
}

// actOnSession does what a key does with a session.
func (d *dashboard) actOnSession(key string, r row, sure string) tea.Cmd {
	name := r.cells[colName]
	switch {
	case !r.hasSession():
		d.note = name + " has no session"
	case key == "enter" && !r.live():
		return d.run("reading what "+name+" has printed", d.report("Output of "+name), "logs", r.id, "--tail", "1000")
	case key == "enter" && r.session.Writer != nil && sure != r.id:
		d.sure, d.note = r.id, viewer.TakesOver(name)
	case key == "enter" && r.session.Writer != nil:
		return d.give("attach", "--takeover", r.id)
	case key == "enter":
		return d.give("attach", r.id)
	case !r.live():
		d.note = name + " has ended"
	case key == "space":
		d.pane = d.newPeek(r)
	case key == "x":
		p := newText("Stop "+name, "This ends its program and everything that it started:\n\n  "+plaintext.Line(strings.Join(r.session.Argv, " ")))
		p.ask = "y stops it  Esc goes back"
		p.yes = func() tea.Cmd { return d.run("stopping "+name, d.say(name+" is stopped"), "stop", r.id) }
		d.pane = p
	}
	return nil
}

// actOnWorkspace does what a key does with a workspace.
func (d *dashboard) actOnWorkspace(key string, r row) tea.Cmd {
	w := r.workspace
	name, id := plaintext.Line(w.Label), target(w.Runtime, w.ID)
	switch {
	case w.ID == "":
		d.note = r.cells[colName] + " has no workspace"
	case key == "d":
		return d.load("reading what "+name+" has changed", func() (loaded, error) {
			var patch bytes.Buffer
			err := workspaces.Patch(d.ctx, d.cli.On(w.Runtime), w.ID, &patch)
			if patch.Len() == 0 {
				patch.WriteString("nothing is changed")
			}
			return loaded{page: newPage("Changes of "+name, patch.String())}, err
		})
	case key == "m":
		return d.run("looking what would be merged", d.askMerge(id, name), "merge", id, "-n")
	case key == "D":
		return d.load("looking what a delete would lose", func() (loaded, error) { return d.askDelete(w, id, name) })
	}
	return nil
}

// say returns what follows a command that prints nothing of interest.
func (d *dashboard) say(done string) func(result) tea.Cmd {
	return func(r result) tea.Cmd {
		if d.note = done; r.err != nil || r.code != 0 {
			d.note = r.problem()
		}
		return nil
	}
}

// report returns what follows a command whose output the user wants to read.
func (d *dashboard) report(title string) func(result) tea.Cmd {
	return func(r result) tea.Cmd {
		d.pane = newText(title, r.text())
		if r.err != nil {
			d.pane = newText(title, plaintext.Line(r.err.Error()))
		}
		return nil
	}
}

// askMerge shows what would be merged, and asks whether to.
func (d *dashboard) askMerge(id, name string) func(result) tea.Cmd {
	return func(r result) tea.Cmd {
		p := newText("Merge "+name, r.text())
		if r.err == nil && r.code == 0 && !strings.HasPrefix(r.out, "nothing to merge") {
			p.ask = "y merges it  Esc goes back"
			p.yes = func() tea.Cmd { return d.run("merging "+name, d.report("Merged "+name), "merge", id, "--keep") }
		}
		d.pane = p
		return nil
	}
}

// askDelete shows what a delete would lose, and asks whether to.
func (d *dashboard) askDelete(w api.Workspace, id, name string) (loaded, error) {
	text, flags, err := workspaces.Forecast(d.ctx, d.cli.On(w.Runtime), w.ID)
	if err != nil {
		return loaded{}, err
	}
	p := newText("Delete "+name, text)
	p.ask = "y deletes it  Esc goes back"
	args := append([]string{"rm", id}, flags...)
	p.yes = func() tea.Cmd { return d.run("deleting "+name, d.report("Deleted "+name), args...) }
	return loaded{page: p}, nil
}

// loaded is a pane that took a while to make.
type loaded struct {
	page pane
	err  error
}

// load makes a pane in the background and shows it. Until then the last line says
// what is done.
func (d *dashboard) load(doing string, make func() (loaded, error)) tea.Cmd {
	d.doing, d.note = doing+"...", ""
	return func() tea.Msg {
		l, err := make()
		l.err = err
		return l
	}
}

func (d *dashboard) takeLoaded(l loaded) {
	if d.doing = ""; l.err != nil {
		d.note = l.err.Error()
		return
	}
	d.pane = l.page
}

// restore lists the deleted workspaces that can be restored.
func (d *dashboard) restore() tea.Cmd {
	return d.load("reading the deleted workspaces", func() (loaded, error) {
		past, err := catalog.Deleted(d.ctx, d.cli)
		if err != nil {
			return loaded{}, err
		}
		m := &menu{title: "Restore a deleted workspace", ask: "Enter restores it  Esc goes back"}
		for _, w := range past.Workspaces {
			if w.NotRestorable {
				continue
			}
			name := plaintext.Line(w.Label)
			line := fmt.Sprintf("%s, deleted %s", name, w.DeletedAt.Local().Format("2006-01-02 15:04:05"))
			if w.Branch != "" {
				line += ", branch " + plaintext.Line(w.Branch)
			}
			m.items = append(m.items, item{line, func() tea.Cmd {
				return d.run("restoring "+name, d.report("Restored "+name), "restore", w.ID)
			}})
		}
		if len(m.items) == 0 {
			return loaded{}, fmt.Errorf("no deleted workspace can be restored")
		}
		return loaded{page: m}, nil
	})
}

// search is the line in which the user types a filter.
type search struct{ entry }

func (s *search) paste(d *dashboard, text string) {
	d.note = s.insert(text)
	d.setFilter(s.text())
}

func (s *search) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		d.pane = nil
		d.setFilter("")
	case "up", "down":
		by := 1
		if k.String() == "up" {
			by = -1
		}
		d.choose(d.index() + by)
	case "enter":
		d.pane = nil
		return d.searchOutput(strings.TrimSpace(s.text()))
	default:
		s.entry.press(k)
		d.setFilter(s.text())
	}
	return nil
}

func (s *search) draw(d *dashboard) ([]string, *tea.Cursor) {
	lines := d.draw()
	text, at := s.entry.draw(d.cols - 1)
	last := len(lines) - 1
	if said := d.said(); said != "" && last > 0 {
		lines[last-1] = viewer.Fit(said, d.cols)
	}
	lines[last] = viewer.Fit("/"+text, d.cols)
	return lines, tea.NewCursor(1+at, last)
}

// searchOutput looks for text in what the sessions have printed, and then shows
// those too that have it.
func (d *dashboard) searchOutput(text string) tea.Cmd {
	if text == "" {
		return nil
	}
	return d.run("searching what was printed", func(r result) tea.Cmd {
		var hits struct {
			Matches []struct {
				ID   string `json:"session_id"`
				Line string `json:"line"`
			} `json:"matches"`
		}
		if err := json.Unmarshal([]byte(r.out), &hits); err != nil {
			d.note = r.problem()
			return nil
		}
		clear(d.found)
		for _, hit := range hits.Matches {
			d.found[hit.ID] = plaintext.Line(strings.TrimSpace(hit.Line))
		}
		d.filter, d.searched = text, text
		d.note = "found " + plaintext.Count(len(hits.Matches), "line") + " in " + plaintext.Count(len(d.found), "session")
		d.sift()
		return nil
	}, "search", "-i", "--json", "--", text)
}
