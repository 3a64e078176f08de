//go:build faults && unix

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	cmd.Env = append(os.Environ(), faultJobVariable+"="+string(text), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	return err
}

// deletePlaces and restorePlaces are those of a delete with consent, and of the
// restore after it.
var (
	deletePlaces  = []string{"delete/moved", "delete/staged", "delete/landed", "delete/kept", "delete/trashed", "delete/forgotten"}
	restorePlaces = []string{"restore/files", "restore/branch", "restore/gathered", "restore/entry", "restore/placed", "restore/let-go"}
)

// A delete or a restore that is killed anywhere loses nothing: done once more,
// and restored, all is as it was.
func TestFaultKilled(t *testing.T) { eachLayout(t, testFaultKilled) }

func testFaultKilled(t *testing.T, lay func(testing.TB, workspace.Workspace) workspace.Workspace) {
	for _, place := range slices.Concat(deletePlaces, restorePlaces) {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			killedJob(t, place, lay, func(*testing.T, workspace.Workspace, func() error) {})
		})
	}
}

// killedJob is killedIn for a worktree in the manager's own base.
func killedJob(t *testing.T, place string, lay func(testing.TB, workspace.Workspace) workspace.Workspace, then func(t *testing.T, w workspace.Workspace, again func() error)) {
	m, base := newManager(t)
	killedIn(t, place, m, base, lay(t, create(t, m, request(newRepo(t), "w1"))), then)
}

// In a directory that the user named a delete and a restore lose nothing either.
func TestFaultGivenBase(t *testing.T) {
	for _, place := range slices.Concat(deletePlaces, restorePlaces) {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, base, given := newGiven(t)
			w := create(t, m, requestIn(newRepo(t), "w1", given))
			killedIn(t, place, m, base, w, func(*testing.T, workspace.Workspace, func() error) {})
			if left := namesIn(given); left != "repo" {
				t.Errorf("left: %s", left)
			}
		})
	}
}

// killedIn kills a delete of w or the restore after it at place, calls then, does it
// once more, and checks that all is as it was.
func killedIn(t *testing.T, place string, m *workspace.Manager, base string, w workspace.Workspace, then func(t *testing.T, w workspace.Workspace, again func() error)) {
	d := &dirtier{T: t, w: w}
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
		then(t, d.w, func() (err error) {
			if restore {
				_, _, err = m.Restore(t.Context(), d.w, nil)
			} else {
				_, err = m.Delete(t.Context(), d.w, true, nil)
			}
			return err
		})
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
	if left := namesIn(filepath.Dir(d.w.Root)); left != filepath.Base(d.w.Root) {
		t.Errorf("left beside it: %s", left)
	}
	if left := namesIn(base); strings.Contains(left, " ") {
		t.Errorf("left in the base: %s", left)
	}
	if left, _ := filepath.Glob(d.w.GitDir + "/middleman-*"); len(left) != 0 {
		t.Errorf("left in the repository: %v", left)
	}
}

// A group that is replaced by a link while a delete or a restore is cut short leads
// nothing astray: what is in the other directory stays, and once the group is back,
// so does all else.
func TestFaultGroupReplaced(t *testing.T) {
	for _, place := range slices.Concat(deletePlaces, restorePlaces) {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			killedJob(t, place, readable, func(t *testing.T, w workspace.Workspace, again func() error) {
				group, victim := filepath.Dir(w.Root), t.TempDir()
				for _, name := range []string{"fix", ".deleting-w1", ".trash-w1", ".restoring-w1", ".kept-w1"} {
					write(t, filepath.Join(victim, name, "precious"), "work")
				}
				before := treeState(t, victim) + treeState(t, group)
				rename(t, group, group+".old")
				if err := os.Symlink(victim, group); err != nil {
					t.Fatal(err)
				}
				if err := again(); err == nil {
					t.Error("it went on in another directory")
				}
				if err := os.Remove(group); err != nil {
					t.Fatal(err)
				}
				rename(t, group+".old", group)
				if after := treeState(t, victim) + treeState(t, group); after != before {
					t.Errorf("changed: %s", firstDifference(before, after))
				}
			})
		})
	}
}

// A group that is gone with what a delete or a restore has done with is made again.
func TestFaultGroupGone(t *testing.T) {
	for _, place := range []string{"delete/trashed", "delete/forgotten", "restore/files", "restore/branch", "restore/gathered", "restore/entry"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			killedJob(t, place, readable, func(t *testing.T, w workspace.Workspace, _ func() error) {
				remove(t, filepath.Dir(w.Root))
			})
		})
	}
}
