//go:build unix

package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"middleman/terminal"
	"middleman/workspace"
)

// What is in the place of a scope without a record may be another data
// directory's: it is shown, and never goes.
func TestLeftoversInAScope(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	parent := create(t, m, request(newRepo(t), terminal.NewID("w")))
	w, known := workerOf(parent, terminal.NewID("w"), parent.Root), workerOf(parent, terminal.NewID("w"), parent.Root)
	lost, live := create(t, m, w), create(t, m, known)
	if x, err := m.Where(live); err != nil || !x.Sound() {
		t.Errorf("where a worker is: %+v, %v", x, err)
	}
	before := state(t, parent.Repository, base)
	recorded := recordedAs(records(parent, live))
	found, err := m.Leftovers(t.Context(), recorded)
	got := described(found, lost.Root, "$W", base, "$B")
	if err != nil || !slices.Equal(got, []string{"directory $W false"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, l := range found {
		if _, _, err := m.Prune(t.Context(), l, recorded); err == nil {
			t.Errorf("pruned %+v", l)
		}
	}
	if after := state(t, parent.Repository, base); after != before {
		t.Errorf("changed: %s", firstDifference(before, after))
	}
	again, err := m.Importable(t.Context(), lost.Root)
	if err != nil || again.ID != lost.ID || again.Root != lost.Root || again.Branch != lost.Branch || again.Mode != workspace.ModeWorktree {
		t.Errorf("imported: %+v, %v", again, err)
	}
	remove(t, live.Root)
	if x, err := m.Where(live); err != nil || x != (workspace.Whereabouts{Missing: true}) {
		t.Errorf("a worker that is gone: %+v, %v", x, err)
	}
}

// A directory of ours is in its place only where no other user can have put it.
func TestWhereADirectoryIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want workspace.Whereabouts
		err  error
	}{
		{"in its place", func(*testing.T, workspace.Workspace) {}, workspace.Whereabouts{}, nil},
		{"gone", func(t *testing.T, w workspace.Workspace) { remove(t, w.Root) }, workspace.Whereabouts{Missing: true}, nil},
		{"a link in its place", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Root, w.Root+"x")
			_ = os.Symlink(w.Root+"x", w.Root)
		}, workspace.Whereabouts{}, workspace.ErrReplaced},
		{"half deleted", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Root, filepath.Dir(w.Root)+"/.deleting-"+w.ID)
		}, workspace.Whereabouts{}, nil},
		{"base open to others", func(t *testing.T, w workspace.Workspace) { _ = os.Chmod(filepath.Dir(w.Root), 0o777) }, workspace.Whereabouts{}, workspace.ErrUnsafeBase},
		{"base became a link", func(t *testing.T, w workspace.Workspace) {
			base := filepath.Dir(w.Root)
			rename(t, base, base+"x")
			_ = os.Symlink(base+"x", base)
		}, workspace.Whereabouts{}, workspace.ErrUnsafeBase},
		{"base gone", func(t *testing.T, w workspace.Workspace) { remove(t, filepath.Dir(w.Root)) }, workspace.Whereabouts{}, fs.ErrNotExist},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			w := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "d", Mode: workspace.ModeDirectory})
			tc.do(t, w)
			if got, err := m.Where(w); got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
