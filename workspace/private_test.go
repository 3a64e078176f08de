package workspace_test

import (
	"context"
	"errors"
	"testing"

	"middleman/workspace"
	"middleman/workspace/model"
)

// What the private git directory of sandboxed sessions has is counted like what the
// workspace has: in an inspection, and again when the directory was moved.
func TestPrivateCounts(t *testing.T) {
	stash := workspace.Loss{Stashed: []string{model.InSandbox + "WIP"}}
	reflog := workspace.Loss{Abandoned: []string{model.InSandbox + "commit 1 lost"}}
	rebase := workspace.Loss{Operation: "rebase"}
	for _, test := range []struct {
		name     string
		holds    workspace.Loss
		err      error
		work     bool // a reason to refuse
		restored bool // a delete with consent keeps it
	}{
		{"nothing", workspace.Loss{}, nil, false, false},
		{"a stash", stash, nil, true, true},
		{"a rebase", rebase, nil, true, true},
		{"the reflog", reflog, nil, false, true},
		{"what cannot be read", workspace.Loss{}, errors.New("it is damaged"), true, true},
	} {
		for _, mode := range []workspace.Mode{workspace.ModeWorktree, workspace.ModeInPlace} {
			t.Run(test.name+" "+string(mode), func(t *testing.T) {
				m, _ := newManager(t)
				m.Private(func(context.Context, workspace.Workspace) (workspace.Loss, error) { return test.holds, test.err })
				r := request(newRepo(t), "w1")
				r.Mode = mode
				w := create(t, m, r)
				loss, err := m.Inspect(t.Context(), w)
				if !errors.Is(err, test.err) && !errors.Is(err, workspace.ErrUnknown) || (err != nil || !loss.Empty()) != test.work {
					t.Errorf("inspected: %+v, %v", loss, err)
				}
				if err == nil && loss.Restorable != test.restored {
					t.Errorf("inspected: restorable %v", loss.Restorable)
				}
				if test.work {
					if _, err := m.DeleteInspected(t.Context(), w, false, nil); err == nil {
						t.Fatal("it is deleted without consent")
					}
				}
				loss, err = m.DeleteInspected(t.Context(), w, test.work, nil)
				if err != nil || loss.Restorable != test.restored || loss.Sandboxed != test.restored {
					t.Fatalf("deleted: %+v, %v", loss, err)
				}
				w.RestoreFrom = workspace.FromSnapshot
				if !test.restored {
					return
				}
				if kept, err := m.IsKept(t.Context(), w); !kept || err != nil {
					t.Errorf("kept: %v, %v", kept, err)
				}
				if _, _, err := m.Restore(t.Context(), w, nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
