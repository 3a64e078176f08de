//go:build faults && unix

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/fault"
	"middleman/workspace"
)

// createPlaces are those of a creation, in order. From create/checkout on the
// workspace has its place.
var createPlaces = []string{
	"create/fetched", "create/branch", "create/linked", "create/directory", "create/added", "create/checkout", "create/checked-out",
}

// createJob is a creation that a plan may kill.
type createJob struct {
	Base    string
	Request workspace.CreateRequest
}

const createJobVariable = "MIDDLEMAN_TEST_CREATE"

// TestFaultCreateChild is the process that is killed.
func TestFaultCreateChild(t *testing.T) {
	text := os.Getenv(createJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultCreate")
	}
	var job createJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	m := workspace.New(workspace.Options{Base: job.Base})
	w, err := m.Begin(context.Background(), job.Request, nil)
	if err == nil {
		_, err = m.Checkout(context.Background(), job.Request, w, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (j createJob) start(t *testing.T, plan *fault.Plan) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultCreateChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), createJobVariable+"="+string(text), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	cmd.Stdout, cmd.Stderr = &strings.Builder{}, &strings.Builder{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// killed waits for the end of cmd, which must have been killed.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("not killed: %v\n%s", err, cmd.Stdout)
	}
}

// killedAt begins a creation that is killed at place, and returns what the next
// server knows of it, whether it has its place, and how all was before.
func killedAt(t *testing.T, m *workspace.Manager, base, place string) (r workspace.CreateRequest, w workspace.Workspace, before string) {
	t.Helper()
	forge, pull, _ := newForge(t)
	repo := newRepo(t)
	runGit(t, repo, "remote", "add", "origin", forge)
	write(t, repo+"/a.txt", "the user's change\n")
	write(t, repo+"/mine", "the user's\n")
	r = request(repo, "w1")
	r.Base = "pr:7"
	other := request(repo, "w0")
	other.Name = "other"
	write(t, create(t, m, other).Root+"/mine", "work\n")
	before = everything(t, repo, base)
	plan := fault.NewPlan(t.TempDir())
	if err := plan.Set(place, fault.Kill, 0, 1); err != nil {
		t.Fatal(err)
	}
	killed(t, createJob{base, r}.start(t, plan))
	w = recorded(r)
	if slices.Index(createPlaces, place) >= slices.Index(createPlaces, "create/checkout") {
		w = placed(r, base)
		w.BaseCommit = pull
	}
	return r, w, before
}

// placed is what a row says of a workspace that has its place.
func placed(r workspace.CreateRequest, base string) workspace.Workspace {
	w := recorded(r)
	w.Root, w.GitDir, w.Branch, w.Base = filepath.Join(base, "repo", r.Name), filepath.Join(r.Directory, ".git"), "middleman/"+r.Name, r.Base
	w.OwnBranch = true
	return w
}

// everything is all of a repository, the user's files too, and of the base.
func everything(t *testing.T, repo, base string) string {
	t.Helper()
	return state(t, repo, base) + treeState(t, repo)
}

// Killed anywhere, a creation can be undone: all is as it was.
func TestFaultCreateUndone(t *testing.T) {
	for _, place := range createPlaces {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			r, w, before := killedAt(t, m, base, place)
			for range 2 {
				if err := m.Undo(context.Background(), w, false); err != nil {
					t.Fatal(err)
				}
				if after := everything(t, r.Directory, base); after != before {
					t.Errorf("not as it was: %s", firstDifference(before, after))
				}
				if left := namesIn(base) + ": " + namesIn(base+"/repo"); left != "repo: other" {
					t.Errorf("in the base: %s", left)
				}
			}
		})
	}
}

// Killed when it has its place, it can be gone on with, to the same end.
func TestFaultCreateFinished(t *testing.T) {
	for _, place := range createPlaces[slices.Index(createPlaces, "create/checkout"):] {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			r, w, before := killedAt(t, m, base, place)
			for range 2 {
				if _, err := m.Checkout(context.Background(), r, w, nil); err != nil {
					t.Fatal(err)
				}
				if got := runGit(t, w.Root, "status", "--porcelain"); got != "" {
					t.Errorf("status: %s", got)
				}
			}
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Error(err)
			}
			if after := everything(t, r.Directory, base); after != before {
				t.Errorf("not as it was: %s", firstDifference(before, after))
			}
		})
	}
}

// A checkout that is killed in the middle of a file, while git goes on for a
// time: the next waits for that git, and then writes what is missing and the
// file of which there is only the beginning. What somebody wrote there stays.
func TestFaultCreateKilledMidFile(t *testing.T) {
	for _, undo := range []bool{false, true} {
		t.Run(map[bool]string{false: "finished", true: "undone"}[undo], func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			write(t, repo+"/big", strings.Repeat("line\n", 100_000))
			commit(t, repo, ".gitattributes", "*.held filter=held\n")
			commit(t, repo, "big", strings.Repeat("line\n", 100_000))
			commit(t, repo, "m.held", "held\n")
			commit(t, repo, "z.txt", "last\n")
			started, held := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "held")
			for _, pipe := range []string{started, held} {
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			runGit(t, repo, "config", "filter.held.smudge", "echo > '"+started+"'; cat '"+held+"'; false")
			runGit(t, repo, "config", "filter.held.clean", "cat")
			runGit(t, repo, "config", "filter.held.required", "true")
			m, base := newManager(t)
			before := everything(t, repo, base)
			r := request(repo, "w1")
			r.Filters = true
			cmd := createJob{base, r}.start(t, fault.NewPlan(t.TempDir()))
			if _, err := os.ReadFile(started); err != nil { // until git is at m.held
				t.Fatal(err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed(t, cmd)
			w := placed(r, base)
			runGit(t, repo, "config", "filter.held.smudge", "cat")
			let := make(chan error, 1)
			go func() { let <- os.WriteFile(held, nil, 0o600) }() // git ends while the next waits for it
			if undo {
				err := m.Undo(context.Background(), w, false)
				if err := <-let; err != nil {
					t.Fatal(err)
				}
				runGit(t, repo, "config", "filter.held.smudge", "echo > '"+started+"'; cat '"+held+"'; false")
				if after := everything(t, repo, base); err != nil || after != before {
					t.Errorf("%v, not as it was: %s", err, firstDifference(before, after))
				}
				return
			}
			// As if git had been killed in the middle of big; and somebody came.
			if err := os.Truncate(w.Root+"/big", 12345); err != nil {
				t.Fatal(err)
			}
			write(t, w.Root+"/mine", "work\n")
			write(t, w.Root+"/z.txt", "mine too\n")
			if _, err := m.Checkout(context.Background(), r, w, nil); err != nil {
				t.Fatal(err)
			}
			if err := <-let; err != nil {
				t.Fatal(err)
			}
			if got := runGit(t, w.Root, "status", "--porcelain"); got != "M z.txt\n?? mine" {
				t.Errorf("status: %s", got)
			}
			if loss, err := m.Inspect(context.Background(), w); err != nil || !slices.Equal(loss.Changed, []string{"z.txt"}) || !slices.Equal(loss.Untracked, []string{"mine"}) {
				t.Errorf("loss %+v, %v", loss, err)
			}
		})
	}
}

// Each place of a creation that the sources name is visited here.
func TestFaultCreatePlaces(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "basedir/claim.go")
	var named []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`fault\.Here\("(create/[^"]+)"\)`).FindAllStringSubmatch(string(source), -1) {
			named = append(named, found[1])
		}
	}
	slices.Sort(named)
	want := slices.Clone(createPlaces)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("places %q, visited %q", named, want)
	}
}
