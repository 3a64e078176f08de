package store

import (
	"maps"
	"testing"

	"middleman/workspace"
)

func TestStagesThatRun(t *testing.T) {
	s := open(t)
	ids := addWorkspaces(t, s, 4)
	add := func(id, name, state string) {
		t.Helper()
		must(t, s.AddStage(ctx, id, workspace.Stage{Name: name, State: state, Detail: name + " " + state, Time: t0}))
	}
	add(ids[0], "setup", "running")
	add(ids[1], "setup", "running")
	add(ids[1], "setup", "done")
	add(ids[2], "setup", "running")
	add(ids[2], "setup", "failed")
	add(ids[2], "copy", "running")
	add(ids[3], "setup", "done")
	add(ids[3], "teardown", "running")
	found, err := s.RunningStages(ctx, "setup", "teardown")
	if err != nil || !maps.Equal(found, map[string]string{ids[0]: "setup", ids[3]: "teardown"}) {
		t.Errorf("%v, %v", found, err)
	}
	for id, want := range map[string]string{ids[0]: "setup running", ids[1]: "setup done", ids[2]: "setup failed"} {
		if last, ok, err := s.LastStage(ctx, id, "setup"); err != nil || !ok || last.Detail != want {
			t.Errorf("%+v, %t, %v, want %s", last, ok, err, want)
		}
	}
	if _, ok, err := s.LastStage(ctx, ids[0], "copy"); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}
