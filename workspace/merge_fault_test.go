//go:build faults && unix

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"middleman/internal/fault"
	"middleman/workspace"
)

const mergeJobVariable = "MIDDLEMAN_TEST_MERGE"

// mergeJob is a merge that a plan may kill.
type mergeJob struct {
	Base    string
	W       workspace.Workspace
	Request workspace.MergeRequest
}

// TestFaultMergeChild is the process that is killed.
func TestFaultMergeChild(t *testing.T) {
	text := os.Getenv(mergeJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultMerge")
	}
	var job mergeJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	m := workspace.New(workspace.Options{Base: job.Base})
	if _, err := m.Merge(context.Background(), job.W, job.Request); err != nil {
		t.Fatal(err)
	}
}

// A merge that is killed anywhere has not happened, or is whole: once more, it
// is done.
func TestFaultMerge(t *testing.T) {
	for _, strategy := range []workspace.Strategy{workspace.StrategyMerge, workspace.StrategyRebase, workspace.StrategySquash} {
		for _, place := range []string{"merge/made", "merge/landed"} {
			t.Run(string(strategy)+", "+place, func(t *testing.T) {
				t.Parallel()
				m, w, repo := mergeable(t)
				r := workspace.MergeRequest{Strategy: strategy}
				text, err := json.Marshal(mergeJob{Base: baseOf(w), W: w, Request: r})
				if err != nil {
					t.Fatal(err)
				}
				plan := fault.NewPlan(t.TempDir())
				if err := plan.Set(place, fault.Kill, 0, 1); err != nil {
					t.Fatal(err)
				}
				run := func() {
					cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultMergeChild$")
					name, value := plan.Variable()
					cmd.Env = append(os.Environ(), mergeJobVariable+"="+string(text), name+"="+value,
						"TMPDIR="+t.TempDir()) // a killed process leaves what it has there
					if out, err := cmd.CombinedOutput(); err == nil {
						t.Fatalf("not killed\n%s", out)
					}
				}
				before := runGit(t, repo, "rev-parse", "main")
				if place == "merge/made" {
					untouched(t, w, repo, run)
				} else {
					run()
					if runGit(t, repo, "rev-parse", "main") == before || runGit(t, repo, "status", "--porcelain") != "" {
						t.Error("not landed, or the checkout is behind")
					}
				}
				got, err := m.Merge(t.Context(), w, r)
				if err != nil || (got.Commits == 0) != (place == "merge/landed") {
					t.Errorf("once more: %+v, %v", got, err)
				}
				if content := runGit(t, repo, "show", "main:new.txt"); content != "2" {
					t.Errorf("content: %q", content)
				}
			})
		}
	}
}
