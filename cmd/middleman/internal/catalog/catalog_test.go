package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/terminal"
)

func TestCatalogSession(t *testing.T) {
	session := func(id, workspace, name string, state terminal.State) api.Session {
		return api.Session{ID: id, Name: name, WorkspaceID: "w-" + workspace, WorkspaceName: workspace, State: state}
	}
	running, exited := terminal.StateRunning, terminal.StateExited
	list := List{
		Workspaces: []api.Workspace{{ID: "w-one", Name: "one"}, {ID: "w-two", Name: "two"}, {ID: "w-none", Name: "none"}, {ID: "w-old", Name: "old"}, {ID: "w-past", Name: "past"}, {ID: "w-gone", Name: "gone", DeletedAt: &time.Time{}}},
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
		{target: "past", wantErr: "has several ended sessions: name one of past/x, past/y; `middleman run past` starts another"},
		{target: "none", wantErr: "`middleman run none` starts one"},
		{target: "gone", wantErr: "workspace gone is deleted, and no transcript of its sessions is kept"},
		{target: "one/x", wantErr: `has no session "x": name one of one/sh, one/make`},
		{target: "one/m", want: "s0000000000000002"},
		{target: "on", want: "s0000000000000001"},
		{target: "on/s", want: "s0000000000000001"},
		{target: "o", wantErr: `there is no workspace "o"; did you mean old or one?`},
		{target: "", wantErr: `there is no workspace ""`},
		{target: "x", wantErr: `there is no workspace "x"`},
		{target: "x/y", wantErr: `there is no workspace "x"`},
		{target: "s0000000000000009", wantErr: "there is no session s0000000000000009"},
	}
	label(list.Workspaces)
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

func TestExact(t *testing.T) {
	list := List{
		Workspaces: []api.Workspace{{ID: "w-one", Name: "one"}},
		Sessions:   []api.Session{{ID: "s0000000000000001", Name: "make", WorkspaceID: "w-one", WorkspaceName: "one"}},
	}.Exact()
	for target, want := range map[string]string{
		"one": "", "w-one": "", "one/make": "", "s0000000000000001": "",
		"on": `there is no workspace "on"; did you mean one?`, "one/ma": `has no session "ma": name one of one/make`,
	} {
		if _, err := list.Session(target); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}

// The last attached comes first. What does not look like a session is passed
// over, and only the newest are kept.
func TestRecent(t *testing.T) {
	c := &cli.CLI{Dirs: config.Dirs{Data: filepath.Join(t.TempDir(), "data")}}
	dir := c.Dirs.Attached()
	if ids, err := recent(dir); err != nil || len(ids) != 0 {
		t.Errorf("nothing yet: %v, %v", ids, err)
	}
	id := func(i int) string { return fmt.Sprintf("s%016d", i) }
	for i := range maxRecent {
		if err := NoteAttached(c, id(i)); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(filepath.Join(dir, id(i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"notes", ".s0000000000000000.1", "../x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, id(maxRecent+1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := NoteAttached(c, id(3)); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(dir, id(3)), before, before); err != nil {
		t.Fatal(err)
	}
	if err := NoteAttached(c, id(maxRecent)); err != nil { // one too many: the oldest goes
		t.Fatal(err)
	}
	ids, err := recent(dir)
	if err != nil || len(ids) != maxRecent || ids[0] != id(maxRecent) || ids[1] != id(3) || ids[2] != id(maxRecent-1) || slices.Contains(ids, id(0)) {
		t.Errorf("%v, %v", ids, err)
	}
	if err := NoteAttached(c, "../escape"); err == nil {
		t.Error("what is no id was noted")
	}
}
