package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

const readOnlyVariable = "MIDDLEMAN_TEST_READ_ONLY"

// readOnlyJob is what a process does that sees its repository read-only.
type readOnlyJob struct {
	Base         string
	Clean, Dirty workspace.Workspace
}

// A repository that cannot be written to: nothing can be made of it, what was
// made can be looked at, and a delete that could keep nothing deletes nothing.
// Once it can be written to, all goes on.
func TestReadOnlyRepository(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace of our own: %v %s", err, out)
	}
	repo := newRepo(t)
	m, base := newManager(t)
	job := readOnlyJob{Base: base, Clean: create(t, m, request(repo, "w1")), Dirty: create(t, m, request(repo, "w2"))}
	write(t, job.Dirty.Root+"/new", "x")
	commit(t, job.Dirty.Root, "committed", "x")
	before := state(t, repo, base)
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-e", "-c",
		`mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"; exec "$0" -test.run '^TestReadOnlyChild$' -test.v`, os.Args[0], repo)
	cmd.Env = append(os.Environ(), readOnlyVariable+"="+string(text))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestReadOnlyChild") {
		t.Fatalf("%v\n%s", err, out)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("not as it was: %s", firstDifference(before, after))
	}
	for _, w := range []workspace.Workspace{job.Clean, job.Dirty} {
		if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestReadOnlyChild(t *testing.T) {
	text := os.Getenv(readOnlyVariable)
	if text == "" {
		t.Skip("only as the child of TestReadOnlyRepository")
	}
	var job readOnlyJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	m := workspace.New(workspace.Options{Base: job.Base})
	ctx := context.Background()
	_, err := m.Create(ctx, request(job.Clean.Repository, "w3"), nil)
	if err == nil || !strings.Contains(err.Error(), "Read-only file system") || strings.Contains(err.Error(), "\n") {
		t.Errorf("create: %v", err)
	}
	if loss, err := m.Inspect(ctx, job.Clean); err != nil || !loss.Empty() {
		t.Errorf("clean: %+v, %v", loss, err)
	}
	if loss, err := m.Inspect(ctx, job.Dirty); err != nil || len(loss.Untracked) != 1 || len(loss.Commits) != 1 {
		t.Errorf("dirty: %+v, %v", loss, err)
	}
	if _, err := m.Delete(ctx, job.Dirty, true, nil); !errors.Is(err, workspace.ErrNotKept) {
		t.Errorf("delete: %v", err)
	}
	if _, err := m.Delete(ctx, job.Clean, false, nil); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("delete a clean one: %v", err)
	}
}

// A repository that was moved away is unknown, not empty: nothing is deleted,
// the error names where it was, and back in its place all goes on.
func TestMovedRepository(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	ctx := context.Background()
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.Root+"/new", "x")
	moved := filepath.Join(filepath.Dir(w.Repository), "moved")
	before := state(t, w.Repository, base)
	if err := os.Rename(w.Repository, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Inspect(ctx, w); err == nil || !strings.Contains(err.Error(), w.Repository) {
		t.Errorf("inspect: %v", err)
	}
	if _, err := m.Delete(ctx, w, false, nil); !errors.Is(err, workspace.ErrUnknown) || !strings.Contains(err.Error(), "moved") {
		t.Errorf("delete: %v", err)
	}
	if _, err := m.Create(ctx, request(w.Root, "w2"), nil); err == nil {
		t.Error("created from a worktree without its repository")
	}
	if err := os.Rename(moved, w.Repository); err != nil {
		t.Fatal(err)
	}
	if after := state(t, w.Repository, base); after != before {
		t.Errorf("not as it was: %s", firstDifference(before, after))
	}
	if _, err := m.Delete(ctx, w, true, nil); err != nil {
		t.Error(err)
	}
}
