//go:build unix

package workspace_test

import (
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
