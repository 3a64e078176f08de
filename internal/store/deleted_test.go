package store

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"middleman/workspace"
)

func TestDeletedWorkspaces(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "db"))
	ctx := t.Context()
	at := time.Unix(5, 6).UTC()
	w := workspace.Workspace{ID: "w1", Name: "n", Mode: workspace.ModeWorktree, Root: "/r", Subdir: "s", Repository: "/p",
		GitDir: "/g", Branch: "b", Base: "main", BaseCommit: "c", State: workspace.StateDeleting, Error: "e", CreatedAt: time.Unix(1, 2).UTC(),
		Parent: "w0", ParentSession: "s0", Port: 30000, Ports: 10, ConfigHash: "h", Ephemeral: true, OwnBranch: true,
		RestoreFrom: workspace.FromTip, Tip: "t"}
	for _, err := range []error{
		s.CreateWorkspace(ctx, w), s.AddStage(ctx, w.ID, workspace.Stage{Name: "look"}), s.KeepDeleted(ctx, Deleted{w, at}, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := Deleted{w, at}
	want.State, want.Error = workspace.StateDeleted, ""
	if d, err := s.DeletedWorkspace(ctx, "w1"); err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, %v, want %+v", d, err, want)
	}
	if list, _, err := s.DeletedWorkspaces(ctx, Page{}); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], want) {
		t.Errorf("list %+v, %v", list, err)
	}
	if _, err := s.Workspace(ctx, "w1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is there still: %v", err)
	}
	other := w
	other.ID = "w2"
	if err := s.CreateWorkspace(ctx, other); err != nil {
		t.Errorf("the name is not free: %v", err)
	}
	if err := s.ReviveDeleted(ctx, "w1", "n"); !errors.Is(err, ErrNameTaken) {
		t.Errorf("revive under a name that is taken: %v", err)
	}
	if err := s.ReviveDeleted(ctx, "w1", "n-2"); err != nil {
		t.Fatal(err)
	}
	w.Name, w.State, w.Error = "n-2", workspace.StateRestoring, ""
	if got, err := s.Workspace(ctx, "w1"); err != nil || !reflect.DeepEqual(got, w) {
		t.Errorf("revived %+v, %v, want %+v", got, err, w)
	}
	for _, id := range []string{"w1", "none"} {
		if err := s.ReviveDeleted(ctx, id, "x"); !errors.Is(err, ErrNotFound) {
			t.Errorf("revive %s once more: %v", id, err)
		}
	}
	if err := s.KeepDeleted(ctx, Deleted{workspace.Workspace{ID: "none", Name: "x"}, at}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("keep none: %v", err)
	}
}
