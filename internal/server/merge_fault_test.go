//go:build faults && unix

package server_test

import (
	"testing"

	"middleman/internal/api"
	"middleman/internal/fault"
)

// A commit that was made while the check ran was not checked, so the merge is
// refused, and main stays as it is.
func TestFaultCommitDuringTheCheck(t *testing.T) {
	plan := fault.NewPlan(t.TempDir())
	t.Setenv(plan.Variable())
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	commit := func(text string) {
		gitOutput(t, w.Root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", text)
	}
	commit("checked")
	before := gitOutput(t, p.repository, "rev-parse", "HEAD")
	const place = "merge/checked"
	if err := plan.Set(place, fault.Hold, 0, 1); err != nil {
		t.Fatal(err)
	}
	answered := make(chan answer, 1)
	go func() { answered <- r.call("POST", "/workspaces/"+w.ID+"/merge", api.Merge{}) }()
	if _, err := plan.Await(place); err != nil {
		t.Fatal(err)
	}
	commit("not checked")
	if err := plan.Release(place); err != nil {
		t.Fatal(err)
	}
	if problem := (<-answered).problem(t); problem.Code != api.CodeBusy {
		t.Errorf("%+v", problem)
	}
	if after := gitOutput(t, p.repository, "rev-parse", "HEAD"); after != before {
		t.Errorf("main moved from %s to %s", before, after)
	}
	if merged := get[api.Merged](r, "POST", "/workspaces/"+w.ID+"/merge", api.Merge{}); merged.Commits != 2 {
		t.Errorf("once more: %+v", merged)
	}
}
