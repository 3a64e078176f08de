package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	_ "middleman/internal/testenv" // sets the umask
	"middleman/terminal"
	"middleman/workspace"
)

// A row whose id could lead elsewhere, or that is damaged, stops no list.
func TestBadRowsArePassedOver(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	w := workspace.Workspace{ID: terminal.NewID("w"), Name: "w", Mode: workspace.ModeDirectory, State: workspace.StateReady, CreatedAt: time.Now()}
	evil := w
	evil.ID, evil.Name = "../../evil", "evil"
	x := Session{ID: terminal.NewID("s"), WorkspaceID: w.ID, Name: "s", Backend: "tmux", Argv: []string{"a"}, State: terminal.StateRunning, CreatedAt: time.Now()}
	bad := x
	bad.ID, bad.Name = "../"+x.ID, "bad"
	for _, w := range []workspace.Workspace{evil, w} {
		if err := s.CreateWorkspace(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []Session{bad, x} {
		if err := s.CreateSession(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.write.ExecContext(ctx, `UPDATE sessions SET argv = 'x', exit = '[' WHERE id = ?`, x.ID); err != nil {
		t.Fatal(err)
	}

	workspaces, next, err := s.Workspaces(ctx, Page{Limit: 1})
	if err != nil || next != "" || len(workspaces) != 1 || workspaces[0].ID != w.ID {
		t.Errorf("workspaces %v, next %q, %v", workspaces, next, err)
	}
	if _, err := s.Workspace(ctx, evil.ID); err == nil {
		t.Error("by its id it is found")
	}
	sessions, next, err := s.Sessions(ctx, "", Page{Limit: 1})
	if err != nil || next != "" || len(sessions) != 1 || sessions[0].ID != x.ID || !strings.Contains(sessions[0].Error, "damaged") {
		t.Errorf("sessions %v, next %q, %v", sessions, next, err)
	}
	rows, err := s.BadRows(ctx)
	if want := []string{`workspaces, id "../../evil"`, `sessions, id "../` + x.ID + `"`}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("bad rows %q, %v, want %q", rows, err, want)
	}
}
