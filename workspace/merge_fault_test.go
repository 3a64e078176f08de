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

const finishJobVariable = "MIDDLEMAN_TEST_FINISH"

// finishJob is a merge, or a push, that a plan may kill.
type finishJob struct {
	Base  string
	W     workspace.Workspace
	Merge *workspace.MergeRequest // nil to push
}

// TestFaultFinishChild is the process that is killed.
func TestFaultFinishChild(t *testing.T) {
	text := os.Getenv(finishJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultMerge")
	}
	var job finishJob
	err := json.Unmarshal([]byte(text), &job)
	m := workspace.New(workspace.Options{Base: job.Base})
	switch {
	case err != nil:
	case job.Merge != nil:
		_, err = m.Merge(context.Background(), job.W, *job.Merge)
	default:
		_, err = m.Push(context.Background(), job.W, workspace.PushRequest{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// killAt runs the job until it is killed at place.
func (j finishJob) killAt(t *testing.T, place string) {
	t.Helper()
	text, err := json.Marshal(j)
	plan := fault.NewPlan(t.TempDir())
	if err == nil {
		err = plan.Set(place, fault.Kill, 0, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultFinishChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), finishJobVariable+"="+string(text), name+"="+value,
		"TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	out, err := cmd.CombinedOutput()
	if n, _ := plan.Reached(place); err == nil || n != 1 {
		t.Fatalf("not killed at %s: %v\n%s", place, err, out)
	}
}

// A push that is killed before it sends anything changes nothing here and there,
// and succeeds the next time.
func TestFaultPush(t *testing.T) {
	m, w, repo, origin := pushable(t)
	untouched(t, w, repo, func() { finishJob{Base: baseOf(w), W: w}.killAt(t, "push/ready") })
	if refs := runGit(t, origin, "for-each-ref", "refs/heads/middleman"); refs != "" {
		t.Errorf("sent: %s", refs)
	}
	got, err := m.Push(t.Context(), w, workspace.PushRequest{})
	if err != nil || got.Done != "new" || runGit(t, origin, "rev-parse", "middleman/fix") != runGit(t, w.Root, "rev-parse", "HEAD") {
		t.Errorf("once more: %+v, %v", got, err)
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
				run := func() { finishJob{baseOf(w), w, &r}.killAt(t, place) }
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
