package dashboard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

// A key that is pressed while a command runs acts when that is over: on the row that it was
// pressed on, and never where something else takes the keys by then.
func TestKeyWhileACommandRuns(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(d *dashboard) // between the key and the end of the command
		want bool
	}{
		{"nothing else", func(*dashboard) {}, true},
		{"another row", func(d *dashboard) { d.choose(d.index() + 1) }, false},
		{"another pane", func(d *dashboard) { d.pane = newText("title", "text") }, false},
		{"another key", func(d *dashboard) { d.act("S", "") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
			d.cols, d.rows = 80, 24
			d.takeList(listed{list: someList(), asked: []api.Approval{someRequests()[1]}, server: true})
			for i, r := range d.table {
				if len(r.asks) > 0 {
					d.choose(i)
				}
			}
			ended := result{then: d.say("done")}
			d.run("working", ended.then)
			if d.act("a", ""); d.pane != nil {
				t.Fatal("the key acts while the command runs")
			}
			tt.then(d)
			var m tea.Model = d
			m.Update(ended)
			if _, is := d.pane.(*request); is != tt.want {
				t.Errorf("the request is shown: %v, want %v", is, tt.want)
			}
			if d.later != (press{}) {
				t.Errorf("%+v is still to come", d.later)
			}
		})
	}
}

// Escape and a key at once are two keys, whatever was shown; in a text they are neither.
func TestEscapeAndAKeyAtOnce(t *testing.T) {
	at := func(code rune, mod tea.KeyMod) tea.KeyPressMsg { return tea.KeyPressMsg{Code: code, Mod: mod} }
	for _, tt := range []struct {
		name string
		pane pane
		key  tea.KeyPressMsg
		want string // what is shown then
	}{
		{"over the list", nil, at('?', tea.ModAlt), "Help"},
		{"a text is shown", newText("Title", "text"), at('?', tea.ModAlt), "Help"},
		{"the key is a capital letter", newText("Title", "text"), tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift}, "other"},
		{"an arrow", newText("Title", "text"), at(tea.KeyDown, tea.ModAlt), "other"},
		{"words are typed", &search{entry: entry{before: "x"}}, at('?', tea.ModAlt), "/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
			d.cols, d.rows = 80, 24
			d.takeList(listed{list: someList(), server: true})
			d.choose(0)
			first := d.at
			d.pane = tt.pane
			d.Update(tt.key)
			if tt.want == "other" {
				if d.pane != nil || d.at == first {
					t.Errorf("pane %T, selected %s", d.pane, d.at)
				}
				return
			}
			if shown := unstyled(d.View().Content); !strings.Contains(shown, tt.want) {
				t.Errorf("shown:\n%s", shown)
			}
		})
	}
}
