package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"middleman/workspace"
)

// What a program writes into a directory while that is removed is nobody's to
// destroy: the delete ends, says where it is, and no prune takes it.
func TestAWriterDuringADelete(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	for i := range 2000 { // so that the removal takes a while
		write(t, filepath.Join(w.Root, "many", strconv.Itoa(i)), "x")
	}
	write(t, w.Root+"/precious", "1\n")
	in, err := os.OpenRoot(w.Root) // as a program that stands there
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	stop := make(chan struct{})
	var writer sync.WaitGroup
	written := map[string]bool{}
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := "late" + strconv.Itoa(i)
			if f, err := in.Create(name); err == nil {
				_ = f.Close() // the directory may have gone meanwhile
				written[name] = true
			}
		}
	})
	var loss workspace.Loss
	loss, err = m.Delete(context.Background(), w, true, nil)
	close(stop)
	writer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	late, _ := filepath.Glob(filepath.Join(base, "repo", "w1.late-*"))
	if len(late) == 0 {
		t.Skip("the writer was never in the way")
	}
	if len(loss.Warnings) == 0 || !strings.Contains(strings.Join(loss.Warnings, "\n"), late[0]) {
		t.Errorf("said: %q, left: %q", loss.Warnings, late)
	}
	left, err := m.Leftovers(context.Background(), func(context.Context) (workspace.Records, error) { return workspace.Records{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, l := range left {
		if l.What == late[0] {
			named = !l.Prunable && strings.Contains(l.Why, "while workspace w1 was deleted")
		}
	}
	if !named {
		t.Errorf("leftovers: %+v", left)
	}
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if !exists(w.Root + "/precious") {
		t.Error("what was kept is not back")
	}
}

// A worktree within the workspace is whole again after a restore, whatever git
// was asked to forget meanwhile.
func TestAWorktreeWithinIsKept(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	inner := w.Root + "/in"
	runGit(t, w.Root, "worktree", "add", "-q", "--detach", inner)
	commit(t, inner, "z", "precious\n")
	write(t, inner+"/s", "only staged\n")
	runGit(t, inner, "add", "s")
	if err := os.Remove(inner + "/s"); err != nil {
		t.Fatal(err)
	}
	before := runGit(t, inner, "status", "--porcelain=v2", "--branch") + runGit(t, inner, "log", "--format=%H %s")
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Fatal(err)
	}
	runGit(t, repo, "worktree", "prune", "--expire=now")
	runGit(t, repo, "reflog", "expire", "--expire=now", "--all")
	runGit(t, repo, "gc", "-q", "--prune=now")
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if after := runGit(t, inner, "status", "--porcelain=v2", "--branch") + runGit(t, inner, "log", "--format=%H %s"); after != before {
		t.Errorf("not as it was:\n%s\nwas\n%s", after, before)
	}
	runGit(t, repo, "worktree", "remove", "--force", inner) // it is not locked any more
}

// A delete that is killed before it has decided is undone, and one that had is
// ended.
func TestPutBack(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.Root+"/new", "x")
	if back, err := m.PutBack(w); !back || err != nil {
		t.Errorf("where nothing was done: %v, %v", back, err)
	}
	if err := os.Rename(w.Root, filepath.Join(filepath.Dir(w.Root), ".deleting-w1")); err != nil {
		t.Fatal(err)
	}
	if back, err := m.PutBack(w); !back || err != nil || !exists(w.Root+"/new") {
		t.Errorf("moved: %v, %v", back, err)
	}
	if err := os.Rename(w.Root, filepath.Join(filepath.Dir(w.Root), ".trash-w1")); err != nil {
		t.Fatal(err)
	}
	if back, err := m.PutBack(w); back || err != nil {
		t.Errorf("decided: %v, %v", back, err)
	}
	if err := os.Rename(base, base+".away"); err != nil {
		t.Fatal(err)
	}
	if back, err := m.PutBack(w); back || err == nil {
		t.Errorf("without its base: %v, %v", back, err)
	}
}
