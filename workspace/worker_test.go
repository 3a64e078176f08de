//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"middleman/workspace"
)

// workerOf asks for a worker of parent whose session stands in dir.
func workerOf(parent workspace.Workspace, id, dir string) workspace.CreateRequest {
	r := request(dir, id)
	r.Name, r.Parent, r.ParentSession = "worker-"+id, &parent, "s1"
	return r
}

// inPlace is a workspace of a directory that the user has.
func inPlace(dir string) workspace.Workspace {
	return workspace.Workspace{ID: "p1", Name: "here", Mode: workspace.ModeInPlace, Root: dir, State: workspace.StateReady}
}

// A worker is made below its parent's root, from the parent's HEAD, and stands
// where the parent stands; the parent's status does not show it, its delete
// does.
func TestWorkerOfWorktree(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	parent := create(t, m, request(repo, "w1"))
	commit(t, parent.Root, "sub/deep/mine.txt", "committed\n")
	write(t, parent.Root+"/sub/dirty", "uncommitted\n")

	w := create(t, m, workerOf(parent, "w2", parent.Root+"/sub/deep"))
	if want := filepath.Join(base, "repo/fix/.middleman/work/w2"); w.Root != want || w.Subdir != "sub/deep" {
		t.Errorf("at %s in %s, want %s in sub/deep", w.Root, w.Subdir, want)
	}
	if w.Branch != "middleman/worker/"+w.Name || w.BaseCommit != runGit(t, parent.Root, "rev-parse", "HEAD") || w.Base != parent.Branch ||
		w.Parent != "w1" || w.ParentSession != "s1" || w.Repository != repo {
		t.Errorf("worker %+v", w)
	}
	if _, err := os.Stat(w.Root + "/sub/deep/mine.txt"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.Root + "/sub/dirty"); !os.IsNotExist(err) {
		t.Errorf("uncommitted work: %v", err)
	}
	if status := runGit(t, parent.Root, "status", "--porcelain"); status != "?? sub/dirty" {
		t.Errorf("the parent's status: %q", status)
	}
	os.Remove(parent.Root + "/sub/dirty")
	loss, err := m.Inspect(t.Context(), parent)
	if err != nil || len(loss.Untracked) != 1 || !strings.Contains(loss.Untracked[0], "worker/worker-w2") {
		t.Errorf("the parent's loss: %+v, %v", loss, err)
	}
	if _, err := m.Delete(t.Context(), parent, false, nil); err == nil {
		t.Error("the parent was deleted with its worker")
	}

	// A worker of a worker, two levels down, in its own parent's scope.
	write(t, w.Root+"/new.txt", "new\n")
	inner := create(t, m, workerOf(w, "w3", w.Root))
	if want := filepath.Join(w.Root, ".middleman/work/w3"); inner.Root != want || inner.Parent != "w2" {
		t.Errorf("at %s, want %s", inner.Root, want)
	}
	if status := runGit(t, w.Root, "status", "--porcelain"); status != "?? new.txt" {
		t.Errorf("the worker's status: %q", status)
	}
	if exclude, err := os.ReadFile(repo + "/.git/info/exclude"); err != nil || strings.Count(string(exclude), "**/.middleman/work/\n") != 1 {
		t.Errorf("exclude is %q, %v", exclude, err)
	}
}

// What works for a workspace in the base works for one in a scope: delete,
// restore, undo.
func TestWorkerIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	parent := create(t, m, request(newRepo(t), "w1"))
	w := create(t, m, workerOf(parent, "w2", parent.Root))
	write(t, w.Root+"/a.txt", "changed\n")
	commit(t, w.Root, "mine", "mine\n")
	status := runGit(t, w.Root, "status", "--porcelain=v2", "--branch")

	if _, err := m.Delete(t.Context(), w, false, nil); err == nil {
		t.Fatal("deleted with work in it")
	}
	loss, err := m.Delete(t.Context(), w, true, nil)
	if err != nil || !loss.Restorable {
		t.Fatalf("%+v, %v", loss, err)
	}
	back, _, err := m.Restore(t.Context(), w, nil)
	if err != nil || back.Root != w.Root {
		t.Fatalf("%+v, %v", back, err)
	}
	if now := runGit(t, back.Root, "status", "--porcelain=v2", "--branch"); now != status {
		t.Errorf("restored:\n%s\nwas:\n%s", now, status)
	}

	// With its parent gone it comes back beside where that was.
	if _, err := m.Delete(t.Context(), w, true, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(t.Context(), parent, false, nil); err != nil {
		t.Fatal(err)
	}
	back, notes, err := m.Restore(t.Context(), w, nil)
	if err != nil || back.Root != filepath.Join(base, "w2") || len(notes) != 1 {
		t.Fatalf("%+v, %v, %v", back, notes, err)
	}
	if now := runGit(t, back.Root, "status", "--porcelain=v2", "--branch"); now != status {
		t.Errorf("restored elsewhere:\n%s\nwas:\n%s", now, status)
	}
	if loss, err := m.Inspect(t.Context(), back); err != nil || len(loss.Commits) != 1 || len(loss.Changed) != 1 {
		t.Errorf("%+v, %v", loss, err)
	}
}

func TestWorkerIsUndone(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	parent := create(t, m, request(repo, "w1"))
	first := create(t, m, workerOf(parent, "w0", parent.Root)) // so that the place and the exclusion are there
	if _, err := m.Delete(t.Context(), first, false, nil); err != nil {
		t.Fatal(err)
	}
	before := state(t, repo, base)
	w := create(t, m, workerOf(parent, "w2", parent.Root))
	root, err := workspace.WorkerRoot(parent, "w2")
	if err != nil || root != w.Root {
		t.Fatalf("%s, %v", root, err)
	}
	intent := workspace.Workspace{ID: "w2", Name: w.Name, Mode: w.Mode, Root: root, Repository: repo, Parent: "w1"}
	if err := m.Undo(t.Context(), intent, false); err != nil {
		t.Fatal(err)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind: %s", firstDifference(before, after))
	}
}

// A session of a directory that is part of a larger checkout works in that
// part: its workers are there, and not at the repository's top.
func TestWorkerOfPartOfRepository(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, workerOf(inPlace(repo+"/sub"), "w2", repo+"/sub/deep"))
	if w.Root != repo+"/sub/.middleman/work/w2" || w.Subdir != "sub/deep" {
		t.Errorf("at %s in %s", w.Root, w.Subdir)
	}
	if _, err := os.Lstat(repo + "/.middleman"); !os.IsNotExist(err) {
		t.Errorf("at the repository's top: %v", err)
	}
	if status := runGit(t, repo, "status", "--porcelain"); status != "" {
		t.Errorf("the user's status: %q", status)
	}
	if _, err := m.Delete(t.Context(), w, false, nil); err != nil {
		t.Error(err)
	}
}

// A branch of the name that stands before the slash is in nobody's way.
func TestWorkerBranchInTheWay(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	runGit(t, repo, "branch", "middleman/worker")
	if w := create(t, m, workerOf(inPlace(repo), "w2", repo)); w.Branch != "middleman/worker-worker-w2" {
		t.Errorf("branch %s", w.Branch)
	}
}

// Workers of one name get branches with a number, and so does one beside a branch
// that is there. Each is undone by its own.
func TestWorkerBranchIsNumbered(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	runGit(t, repo, "branch", "middleman/worker/fix")
	parent := create(t, m, request(repo, "w1"))
	for i, id := range []string{"w2", "w3"} {
		r := workerOf(parent, id, parent.Root)
		r.Name = "fix"
		w := create(t, m, r)
		if want := fmt.Sprintf("middleman/worker/fix-%d", i+2); w.Branch != want {
			t.Errorf("branch %s, want %s", w.Branch, want)
		}
	}
	again := workerOf(parent, "w4", parent.Root)
	again.Name = "fix"
	w, err := m.Begin(t.Context(), again, nil)
	if err != nil {
		t.Fatal(err)
	}
	row := workspace.Workspace{ID: w.ID, Name: "fix", Mode: w.Mode, Root: w.Root, Repository: repo, Parent: parent.ID, State: workspace.StateCreating}
	if err := m.Undo(t.Context(), row, false); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, repo, "for-each-ref", "--format=%(refname:lstrip=4)", "refs/heads/middleman/worker"); got != "fix\nfix-2\nfix-3" {
		t.Errorf("branches %q", got)
	}
}

// Eight workers at once that write the same names: eight branches, nothing
// mixed.
func TestEightWorkersAtOnce(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	parent := create(t, m, request(newRepo(t), "w1"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprintf("k%d", i)
			w, err := m.Create(context.Background(), workerOf(parent, id, parent.Root), nil)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range []string{"a.txt", "same.txt"} {
				if err := os.WriteFile(filepath.Join(w.Root, name), []byte(id+"\n"), 0o644); err != nil {
					t.Error(err)
				}
			}
			for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "by " + id}} {
				if out, err := tryGit(w.Root, args...); err != nil {
					t.Errorf("git %v: %v\n%s", args, err, out)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		branch := fmt.Sprintf("middleman/worker/worker-k%d", i)
		for _, name := range []string{"a.txt", "same.txt"} {
			if got := runGit(t, parent.Root, "show", branch+":"+name); got != fmt.Sprintf("k%d", i) {
				t.Errorf("%s of %s is %q", name, branch, got)
			}
		}
		if n := runGit(t, parent.Root, "rev-list", "--count", parent.Branch+".."+branch); n != "1" {
			t.Errorf("%s has %s commits of its own", branch, n)
		}
	}
	if status := runGit(t, parent.Root, "status", "--porcelain"); status != "" {
		t.Errorf("the parent's status: %q", status)
	}
}

// A scope that is left, by whatever way, is refused before git has written a
// byte: what is around the scope and what the repository has are as before.
func TestWorkerLeavesScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		dir  func(root, outside string) string // plants what a program may have, and returns where it stands
		want error
	}{
		{"dots", func(root, _ string) string { return root + "/sub/../.." }, workspace.ErrLeavesScope},
		{"dots that come back beside", func(root, outside string) string { return root + "/../../../outside" }, workspace.ErrLeavesScope},
		{"elsewhere", func(_, outside string) string { return outside }, workspace.ErrLeavesScope},
		{"a directory whose name begins the same", func(root, _ string) string {
			os.Mkdir(root+"x", 0o700)
			return root + "x"
		}, workspace.ErrLeavesScope},
		{"linked component", func(root, outside string) string {
			os.MkdirAll(outside+"/inner", 0o700)
			os.Symlink(outside, root+"/sub/link")
			return root + "/sub/link/inner"
		}, workspace.ErrLeavesScope},
		{"link to what does not exist yet", func(root, outside string) string {
			os.Symlink(outside+"/later", root+"/sub/link")
			return root + "/sub/link"
		}, workspace.ErrLeavesScope},
		{"below a link to what does not exist yet", func(root, outside string) string {
			os.Symlink(outside+"/later", root+"/sub/link")
			return root + "/sub/link/inner"
		}, workspace.ErrLeavesScope},
		{"missing", func(root, _ string) string { return root + "/none/at/all" }, workspace.ErrBadRequest},
		{"the place is a link", func(root, outside string) string {
			os.Symlink(outside, root+"/.middleman")
			return root
		}, workspace.ErrLeavesScope},
		{"the place is a link to what does not exist yet", func(root, outside string) string {
			os.Symlink(outside+"/later", root+"/.middleman")
			return root
		}, workspace.ErrLeavesScope},
		{"the place's end is a link within the scope", func(root, _ string) string {
			os.Mkdir(root+"/.middleman", 0o700)
			os.Symlink("../sub", root+"/.middleman/work")
			return root
		}, workspace.ErrLeavesScope},
		{"the place is a file", func(root, _ string) string {
			os.WriteFile(root+"/.middleman", nil, 0o600)
			return root
		}, workspace.ErrUnsafeBase},
		{"the place can be written by others", func(root, _ string) string {
			os.MkdirAll(root+"/.middleman/work", 0o700)
			os.Chmod(root+"/.middleman/work", 0o777)
			return root
		}, workspace.ErrUnsafeBase},
		{"the scope is a link by now", func(root, outside string) string {
			os.Rename(root, outside+"/moved")
			os.Symlink(outside+"/moved", root)
			return root
		}, workspace.ErrLeavesScope},
		{"another repository in its place", func(root, _ string) string {
			os.Remove(root + "/.git")
			tryGit(root, "init", "-q")
			return root
		}, workspace.ErrUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			repo := newRepo(t)
			parent := create(t, m, request(repo, "w1"))
			outside := filepath.Join(filepath.Dir(base), "outside")
			if err := os.MkdirAll(outside, 0o700); err != nil {
				t.Fatal(err)
			}
			dir := tc.dir(parent.Root, outside)
			before := state(t, repo, filepath.Dir(base))
			_, err := m.Create(context.Background(), workerOf(parent, "w2", dir), nil)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if after := state(t, repo, filepath.Dir(base)); after != before {
				t.Errorf("written nevertheless: %s", firstDifference(before, after))
			}
		})
	}
}

// A workspace in a scope is deleted and restored only where its scope is what
// it was.
func TestWorkerScopeReplaced(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	parent := create(t, m, request(newRepo(t), "w1"))
	w := create(t, m, workerOf(parent, "w2", parent.Root))
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Rename(parent.Root+"/.middleman", outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, parent.Root+"/.middleman"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(t.Context(), w, true, nil); !errors.Is(err, workspace.ErrLeavesScope) {
		t.Errorf("delete: %v", err)
	}
	if _, err := m.Inspect(t.Context(), w); !errors.Is(err, workspace.ErrLeavesScope) {
		t.Errorf("inspect: %v", err)
	}
	if _, err := os.Stat(outside + "/work/w2/a.txt"); err != nil {
		t.Error(err)
	}
}

// Where a confined program could replace directories, nothing is made: a worker and what
// the manager was to place there lie in its own base, and what the user asked for is
// refused.
func TestExposedScope(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	parent := create(t, m, request(repo, "w1"))
	var asked []string
	exposed := func(r workspace.CreateRequest) workspace.CreateRequest {
		r.Exposed = func(_ context.Context, dir string) (string, error) {
			asked = append(asked, dir)
			return "a program can", nil
		}
		return r
	}
	w := create(t, m, exposed(workerOf(parent, "w2", parent.Root)))
	if filepath.Dir(w.Root) != filepath.Join(base, "repo") || w.Parent != "w1" || w.Branch != "middleman/worker/"+w.Name {
		t.Errorf("worker %+v", w)
	}
	if _, err := os.Lstat(parent.Root + "/.middleman"); !os.IsNotExist(err) {
		t.Errorf("made in the scope: %v", err)
	}
	if err := m.Undo(t.Context(), workspace.Workspace{ID: "w2", Name: w.Name, Mode: w.Mode, Parent: "w1", Repository: repo}, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(w.Root); !os.IsNotExist(err) {
		t.Errorf("undone: %v", err)
	}

	r := exposed(request(repo, "w3"))
	r.Name, r.Location = "asked", workspace.LocationRepository
	if _, err := m.Create(t.Context(), r, nil); !errors.Is(err, workspace.ErrBadRequest) || !strings.Contains(err.Error(), "a program can") {
		t.Errorf("asked for: %v", err)
	}
	usual := workspace.New(workspace.Options{Base: base, Location: workspace.LocationRepository})
	r = exposed(request(repo, "w4"))
	r.Name = "usual"
	if w := create(t, usual, r); filepath.Dir(w.Root) != filepath.Join(base, "repo") {
		t.Errorf("usual place: %s", w.Root)
	}
	if want := []string{parent.Root, repo, repo}; fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}
