package dashboard

import (
	"slices"
	"testing"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/terminal"
)

// A machine that says the ids of what is here has rows of its own, whose keys act there.
func TestRowsOfAnotherMachine(t *testing.T) {
	here := api.Workspace{ID: "w0123456789abcdef", Label: "fix", Name: "fix"}
	there, empty := here, here
	there.Runtime, there.Label = "box", "box:fix"
	empty.Runtime, empty.Label, empty.ID = "box", "box:empty", "w0123456789abcdee"
	session := api.Session{ID: "s0123456789abcdef", WorkspaceID: here.ID, WorkspaceName: "fix", Name: "cat", State: terminal.StateRunning, Argv: []string{"cat"}}
	far := session
	far.Runtime, far.WorkspaceName, far.State = "box", "box:fix", terminal.StateUnreachable
	rows := rowsOf(catalog.List{Workspaces: []api.Workspace{here, there, empty}, Sessions: []api.Session{session, far}}, []api.Approval{{ID: "a0123456789abcdef", SessionID: session.ID, Summary: "make"}})
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.id)
		if r.hasSession() && r.workspace.Runtime != r.session.Runtime {
			t.Errorf("%s is in a workspace of %q", r.id, r.workspace.Runtime)
		}
		if asks := len(r.asks) > 0; asks != (r.id == session.ID) {
			t.Errorf("%s asks: %v", r.id, asks)
		}
	}
	slices.Sort(ids)
	if want := []string{"box:s0123456789abcdef", "box:w0123456789abcdee", session.ID}; !slices.Equal(ids, want) {
		t.Errorf("rows %q, want %q", ids, want)
	}
	if g, state, _ := attention.Judge(far); g != attention.Working || state != "its machine is unreachable" {
		t.Errorf("%s, %s", g, state)
	}
	changed, asked := map[string]api.Session{}, map[string]api.Approval{}
	if changes(api.Event{Type: "session", Runtime: "box", ID: far.ID, Session: &far}, changed, asked) || changed["box:"+far.ID].WorkspaceName != "box:fix" {
		t.Errorf("its event: %+v", changed)
	}
	if changes(api.Event{Type: "approval", Runtime: "box", Approval: &api.Approval{ID: "a0123456789abcdef"}}, changed, asked); len(asked) > 0 {
		t.Error("a request there is one of here")
	}
	if !changes(api.Event{Type: api.RuntimeEvent, Runtime: "box"}, changed, asked) {
		t.Error("a machine that is gone changes no list")
	}
}
