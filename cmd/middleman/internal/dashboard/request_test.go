package dashboard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

// A key that was typed for another request, or before all of one was shown, allows
// nothing; nor does one after another answer.
func TestAllowsWhatWasSeen(t *testing.T) {
	yes := tea.KeyPressMsg{Code: 'y', Text: "y"}
	for _, tt := range []struct {
		name    string
		change  func(d *dashboard, r *request)
		allowed bool
		said    string
	}{
		{"it was shown for a while", func(*dashboard, *request) {}, true, ""},
		{"only just now", func(_ *dashboard, r *request) { r.ripe = false }, false, "only just now"},
		{"a part of it", func(d *dashboard, r *request) { r.read, d.rows = false, 5 }, false, "more to read"},
		{"answered elsewhere", func(d *dashboard, r *request) {
			a := r.approval
			a.State, a.DecidedBy = api.ApprovalDenied, "login"
			d.takeAsked(a)
		}, false, "denied already, by login"},
		{"gone with its hook", func(d *dashboard, r *request) { d.takeList(listed{server: true}) }, false, "waits no more"},
		{"another one has changed", func(d *dashboard, r *request) {
			d.takeAsked(api.Approval{ID: "other", State: api.ApprovalDenied, DecidedBy: "login"})
		}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
			d.cols, d.rows = 80, 24
			a := someRequests()[1]
			d.takeList(listed{list: someList(), asked: []api.Approval{a}, server: true})
			at := -1
			for i, r := range d.table {
				if len(r.asks) > 0 {
					at = i
				}
			}
			d.choose(at)
			if d.act("a", "") == nil {
				t.Fatal("nothing will say that it was shown for a while")
			}
			r, ok := d.pane.(*request)
			if !ok || !r.is(a) {
				t.Fatalf("the pane is %T", d.pane)
			}
			d.View()
			d.Update(ripened{r})
			tt.change(d, r)
			d.View()
			allowed := d.press(yes) != nil
			shown := unstyled(d.View().Content)
			if allowed != tt.allowed || !strings.Contains(shown, tt.said) || allowed == (d.pane != nil) {
				t.Errorf("allowed %v, shown:\n%s", allowed, shown)
			}
		})
	}
}
