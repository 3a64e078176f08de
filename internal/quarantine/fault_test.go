//go:build faults && unix

package quarantine_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/fault"
	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
	"middleman/workspace/model"
)

const jobVariable = "MIDDLEMAN_TEST_QUARANTINE"

// job is what a process does that a plan may kill.
type job struct {
	Dir     string
	W       model.Workspace
	Prepare bool
}

// TestFaultChild is the process that is killed.
func TestFaultChild(t *testing.T) {
	text := os.Getenv(jobVariable)
	if text == "" {
		t.Skip("only as the child of another test")
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	q := quarantine.At(j.Dir, j.W, sandbox.Bubblewrap, func(context.Context) ([]string, error) { return nil, nil })
	var err error
	if j.Prepare {
		_, err = q.Prepare(t.Context(), false)
	} else {
		_, err = q.Import(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// killAt runs a job that is killed at a place.
func (x *world) killAt(place string, prepare bool) {
	x.t.Helper()
	text, err := json.Marshal(job{Dir: filepath.Join(x.top, "quarantine"), W: x.w, Prepare: prepare})
	if err != nil {
		x.t.Fatal(err)
	}
	plan := fault.NewPlan(x.t.TempDir())
	if err := plan.Set(place, fault.Kill, 0, 1); err != nil {
		x.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text), name+"="+value)
	if out, err := cmd.CombinedOutput(); err == nil {
		x.t.Fatalf("not killed at %s\n%s", place, out)
	}
	if n, err := plan.Reached(place); n != 1 || err != nil {
		x.t.Fatalf("%s: reached %d times, %v", place, n, err)
	}
}

// An import that is killed anywhere is completed by the next, also if the sandbox has
// rewritten its commits meanwhile.
func TestFaultImport(t *testing.T) {
	for _, place := range []string{"packed", "brought", "moving", "moved", "pins-brought", "pinned", "following", "followed"} {
		for _, amend := range []bool{false, true} {
			name := place
			if amend {
				name += ", then amended"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x := newWorld(t)
				x.prepare(false)
				x.run("git switch -qc other; git commit -q --allow-empty -m other; git switch -q mine; echo i >i; git add i; git commit -qm inside; echo s >s; git add s")
				x.killAt("quarantine/"+place, false)
				if amend {
					x.run("git commit -q --amend -m amended")
				}
				tip := x.run("git rev-parse mine")
				out := x.bring()
				if out.After != tip || out.Conflict || !out.Complete() || out.IndexKept != "" {
					t.Errorf("%+v, want %s", out, tip)
				}
				if pending, err := x.q.Pending(t.Context()); pending || err != nil {
					t.Errorf("pending: %v, %v", pending, err)
				}
				inside, outside := x.run("git status --porcelain"), x.host("status", "--porcelain")
				if inside != outside {
					t.Errorf("status inside %q, outside %q", inside, outside)
				}
				x.repo.Git("cat-file", "-e", quarantine.RefsOf(x.w.ID)+"heads/other^{commit}")
				x.host("fsck", "--no-progress")
			})
		}
	}
}

// A private directory whose making or renewal was killed is whole after the next try.
func TestFaultPrepare(t *testing.T) {
	for _, place := range []string{"base-pinned", "recorded", "refs-refreshed"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)
			if place == "refs-refreshed" {
				x.prepare(false)
				x.repo.Git("branch", "late")
				x.host("commit", "-q", "--allow-empty", "-m", "outside")
			}
			x.killAt("quarantine/"+place, true)
			x.prepare(false)
			x.run("git fsck --no-progress; git commit -q --allow-empty -m inside; git rev-parse late || test " + place + " != refs-refreshed")
			if out := x.bring(); out.Commits != 1 || out.Conflict {
				t.Errorf("%+v", out)
			}
			if left, err := filepath.Glob(filepath.Join(x.top, "quarantine", "*")); err != nil || strings.Contains(strings.Join(left, " "), "reading") {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}
