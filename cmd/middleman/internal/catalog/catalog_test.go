package catalog

import (
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
)

func TestCatalogSession(t *testing.T) {
	session := func(id, workspace, name string, state terminal.State) api.Session {
		return api.Session{ID: id, Name: name, WorkspaceID: "w-" + workspace, WorkspaceName: workspace, State: state}
	}
	running, exited := terminal.StateRunning, terminal.StateExited
	list := List{
		Workspaces: []api.Workspace{{ID: "w-one", Name: "one"}, {ID: "w-two", Name: "two"}, {ID: "w-none", Name: "none"}, {ID: "w-old", Name: "old"}, {ID: "w-past", Name: "past"}},
		Sessions: []api.Session{
			session("s0000000000000001", "one", "sh", running), session("s0000000000000002", "one", "make", exited),
			session("s0000000000000003", "two", "a", running), session("s0000000000000004", "two", "b", terminal.StateUnreachable),
			session("s0000000000000005", "old", "sh", exited),
			session("s0000000000000006", "past", "x", exited), session("s0000000000000007", "past", "y", terminal.StateLost),
		},
	}
	tests := []struct{ target, want, wantErr string }{
		{target: "one", want: "s0000000000000001"},
		{target: "w-one", want: "s0000000000000001"},
		{target: "one/make", want: "s0000000000000002"},
		{target: "one/s0000000000000002", want: "s0000000000000002"},
		{target: "s0000000000000003", want: "s0000000000000003"},
		{target: "old", want: "s0000000000000005"},
		{target: "two", wantErr: "has several sessions: name one of two/a, two/b"},
		{target: "past", wantErr: "has several ended sessions: name one of past/x, past/y"},
		{target: "none", wantErr: "`middleman run none` starts one"},
		{target: "one/x", wantErr: `has no session "x": name one of one/sh, one/make`},
		{target: "x", wantErr: `there is no workspace "x"`},
		{target: "x/y", wantErr: `there is no workspace "x"`},
		{target: "s0000000000000009", wantErr: "there is no session s0000000000000009"},
	}
	for _, tt := range tests {
		got, err := list.Session(tt.target)
		switch {
		case tt.wantErr != "":
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("%s: got %v, %v, want an error with %q", tt.target, got.ID, err, tt.wantErr)
			}
		case err != nil || got.ID != tt.want:
			t.Errorf("%s: got %s, %v, want %s", tt.target, got.ID, err, tt.want)
		}
	}
}
