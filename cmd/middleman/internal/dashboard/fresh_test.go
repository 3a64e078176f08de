package dashboard

import (
	"os"
	"testing"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

// Until a new workspace is selected no key acts on the row that was selected before.
func TestNewWorkspaceIsAwaited(t *testing.T) {
	for _, tt := range []struct {
		name  string
		key   string // that is pressed while it is made
		other string // that is pressed behind it
		lists int    // that come without it
		gone  bool   // it is never listed
		want  string // what has the terminal: the label of a workspace
	}{
		{"nothing is pressed", "", "", 0, false, ""},
		{"Enter waits", "enter", "", 0, false, "fresh"},
		{"a list that was read before", "enter", "", 1, false, "fresh"},
		{"another key goes back on it", "enter", "j", 0, false, ""},
		{"it is deleted", "enter", "", 1, true, ""},
		{"what else acts on a row does nothing", "x", "", 0, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{In: os.Stdin}, nil, "/")
			d.cols, d.rows = 80, 24
			list := someList()
			d.takeList(listed{list: list, server: true})
			d.setFilter(d.table[0].cells[colName])
			before := d.at
			d.make(d.newForm())
			for _, key := range []string{tt.key, tt.other} {
				if key != "" {
					d.press(keyOf(key))
				}
			}
			if d.away || d.pane != nil {
				t.Fatalf("the key acts on the old row: pane %T", d.pane)
			}
			d.fresh = fresh{wanted: "fresh", held: d.fresh.held} // as its command says at its end
			d.doing = ""
			for range tt.lists {
				d.Update(listed{list: list, server: true})
			}
			if d.away {
				t.Fatal("it attaches before the workspace is listed")
			}
			if !tt.gone {
				list.Workspaces = append(list.Workspaces, api.Workspace{ID: "w9", Name: "fresh", Label: "fresh"})
				list.Sessions = append(list.Sessions, api.Session{ID: "s9", Name: "sh", WorkspaceID: "w9", WorkspaceName: "fresh", State: "running"})
			}
			d.Update(listed{list: list, server: true})
			r, _ := d.selected()
			if d.fresh.awaited() || d.fresh.held {
				t.Errorf("it is still awaited: %+v", d.fresh)
			}
			if tt.gone && d.at != before || !tt.gone && (r.workspace.Label != "fresh" || d.filter != "") {
				t.Errorf("selected %q, filter %q", r.workspace.Label, d.filter)
			}
			if d.away != (tt.want != "") {
				t.Errorf("attached: %v, want %v", d.away, tt.want)
			}
		})
	}
}

func keyOf(key string) tea.KeyPressMsg {
	if key == "enter" {
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	return tea.KeyPressMsg{Code: rune(key[0]), Text: key}
}
