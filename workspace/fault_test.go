//go:build faults && unix

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/fault"
	"middleman/workspace"
)

// faultJob is what a process does that a plan may kill.
type faultJob struct {
	Base    string
	W       workspace.Workspace
	Restore bool
}

const faultJobVariable = "MIDDLEMAN_TEST_JOB"

// TestFaultChild is that process.
func TestFaultChild(t *testing.T) {
	text := os.Getenv(faultJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultKilled")
	}
	var job faultJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	m := workspace.New(workspace.Options{Base: job.Base})
	var err error
	if job.Restore {
		_, _, err = m.Restore(context.Background(), job.W, nil)
	} else {
		_, err = m.Delete(context.Background(), job.W, true, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (j faultJob) run(t *testing.T, plan *fault.Plan) error {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), faultJobVariable+"="+string(text), name+"="+value)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	return err
}

// A delete or a restore that is killed anywhere loses nothing: done once more,
// and restored, all is as it was.
func TestFaultKilled(t *testing.T) {
	for _, place := range []string{
		"delete/moved", "delete/kept", "delete/trashed", "delete/forgotten",
		"restore/files", "restore/branch", "restore/gathered", "restore/entry", "restore/placed", "restore/let-go",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			d := &dirtier{T: t, w: create(t, m, request(newRepo(t), "w1"))}
			d.root = d.w.Root
			write(t, d.root+"/a.txt", "changed\n")
			write(t, d.root+"/new", "new\n")
			commit(t, d.root, "committed", "1\n")
			runGit(t, d.root, "add", "a.txt")
			runGit(t, d.root, "config", "branch."+d.w.Branch+".remote", ".")
			runGit(t, d.root, "status")
			before, outside := d.look(), otherState(t, d.w.Repository)

			plan := fault.NewPlan(t.TempDir())
			if err := plan.Set(place, fault.Kill, 0, 1); err != nil {
				t.Fatal(err)
			}
			killed := 0
			for _, restore := range []bool{false, true} {
				job := faultJob{base, d.w, restore}
				if err := job.run(t, plan); err == nil {
					continue
				}
				killed++
				if err := job.run(t, plan); err != nil {
					t.Fatalf("once more: %v", err)
				}
			}
			if killed != 1 {
				t.Fatalf("killed %d times", killed)
			}
			if after := d.look(); after != before {
				t.Errorf("not as it was: %s", firstDifference(before, after))
			}
			if after := otherState(t, d.w.Repository); after != outside {
				t.Errorf("elsewhere: %s", firstDifference(outside, after))
			}
			if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 {
				t.Errorf("left in the base: %v, %v", entries, err)
			}
			if left, _ := filepath.Glob(d.w.GitDir + "/middleman-*"); len(left) != 0 {
				t.Errorf("left in the repository: %v", left)
			}
		})
	}
}
