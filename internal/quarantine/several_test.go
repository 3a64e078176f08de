package quarantine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"middleman/internal/quarantine"
	"middleman/internal/testenv"
)

// Two sessions of a workspace share its private directory, as they share the checkout.
func TestTwoSessions(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	first := x.access
	x.prepare(true)
	if fmt.Sprint(first) != fmt.Sprint(x.access) {
		t.Errorf("the second session has other access: %+v, %+v", first, x.access)
	}
	const commits = 8
	var all sync.WaitGroup
	for n := range 2 {
		all.Go(func() {
			out, err := x.try(fmt.Sprintf(`for i in $(seq %d); do
				until echo $i >f%d && git add f%d && git commit -qm "session %d, $i" -- f%d; do :; done; done 2>/dev/null`, commits, n, n, n, n))
			if err != nil {
				t.Errorf("session %d: %v\n%s", n, err, out)
			}
		})
	}
	// Imports at once, and while the sessions work.
	for range 2 {
		all.Go(func() {
			for range 3 {
				if out, err := x.q.Import(t.Context()); err != nil || out.Conflict {
					t.Errorf("import: %+v, %v", out, err)
				}
			}
		})
	}
	all.Wait()
	x.bring()
	if n := x.host("rev-list", "--count", "main.."+ownBranch); n != fmt.Sprint(2*commits) {
		t.Errorf("%s commits arrived, want %d", n, 2*commits)
	}
	if status := x.host("status", "--porcelain"); status != "" {
		t.Errorf("status: %s", status)
	}
	if pending, err := x.q.Pending(t.Context()); pending || err != nil {
		t.Errorf("pending: %v, %v", pending, err)
	}
}

// What was not imported yet is, after the checkout was removed.
func TestImportWithoutTheCheckout(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run("git commit -q --allow-empty -m inside; git switch -qc other; git commit -q --allow-empty -m other")
	x.repo.Git("worktree", "remove", "--force", x.tree)
	x.repo.Git("branch", "-q", "-D", ownBranch)
	if out := x.bring(); !out.Conflict || !out.Complete() || len(out.Pinned) != 2 {
		t.Errorf("%+v", out)
	}
	if err := x.q.Remove(t.Context(), true); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(x.top, "quarantine")); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
	x.repo.Git("gc", "-q", "--prune=now")
	x.repo.Git("cat-file", "-e", quarantine.RefsOf(x.w.ID)+"heads/"+ownBranch)
}

// The user deletes a branch and collects garbage while a session works on that branch.
func TestGarbageCollectionOutside(t *testing.T) {
	x := newWorld(t)
	x.repo.Git("switch", "-q", "-c", "doomed")
	x.repo.Write("doomed", "x")
	x.repo.Commit("doomed")
	x.repo.Git("switch", "-q", "main")
	if err := os.WriteFile(filepath.Join(x.tree, "staged"), []byte("staged"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.host("add", "staged")
	x.prepare(false)
	x.host("rm", "-q", "--cached", "staged")
	x.repo.Git("branch", "-q", "-D", "doomed")
	x.repo.Git("reflog", "expire", "--expire=now", "--all")
	x.repo.Git("gc", "-q", "--prune=now")
	x.run("git fsck --no-progress; git switch -qc on doomed; git commit -q --allow-empty -m on; git show HEAD~1:doomed; git diff --cached --quiet; git gc -q --prune=now")
	if out := x.bring(); !out.Complete() || len(out.Pinned) == 0 {
		t.Errorf("%+v", out)
	}
	x.repo.Git("cat-file", "-e", quarantine.RefsOf(x.w.ID)+"heads/on:doomed")
}

// The repository borrows objects from another, by an absolute and by a relative path.
func TestAlternates(t *testing.T) {
	for _, relative := range []bool{false, true} {
		x := newWorld(t)
		x.repo.Git("clone", "-q", "--shared", x.repo.Dir, "../borrower")
		borrower := filepath.Join(x.top, "borrower")
		file := filepath.Join(borrower, ".git/objects/info/alternates")
		if relative {
			if err := os.WriteFile(file, []byte("../../../repo/.git/objects\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x.tree = filepath.Join(x.top, "tree2")
		x.repo.Git("-C", borrower, "worktree", "add", "-q", x.tree, "-b", ownBranch)
		x.repo.Dir, x.w.Root, x.w.GitDir = borrower, x.tree, filepath.Join(borrower, ".git")
		x.open()
		x.prepare(false)
		out := x.run("git fsck --no-progress; git log --oneline; echo n >n; git add n; git commit -qm new; git gc -q --prune=now; git status")
		if strings.Contains(out, "error") || strings.Contains(out, "alternate") {
			t.Errorf("relative %v: %s", relative, out)
		}
		if out := x.bring(); out.Commits != 1 {
			t.Errorf("relative %v: %+v", relative, out)
		}
		x.host("fsck", "--no-progress")
	}
}

// A checkout that is sparse, one in the middle of a rebase, and a shallow clone go on inside.
func TestStatesOfTheCheckout(t *testing.T) {
	t.Run("sparse", func(t *testing.T) {
		x := newWorld(t)
		x.host("sparse-checkout", "set", "--no-cone", "/file")
		x.prepare(false)
		if out := x.run("ls; git status --porcelain; git sparse-checkout list; echo 4 >>file; git commit -qam sparse"); strings.Contains(out, "dir") {
			t.Errorf("inside: %s", out)
		}
		x.bring()
		if status := x.host("status", "--porcelain"); status != "" {
			t.Errorf("status: %s", status)
		}
	})
	t.Run("rebase", func(t *testing.T) {
		x := newWorld(t)
		x.repo.Write("file", "main\n")
		x.repo.Commit("main")
		x.host("commit", "-q", "--allow-empty", "-m", "empty")
		if err := os.WriteFile(filepath.Join(x.tree, "file"), []byte("mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		x.host("commit", "-qam", "mine")
		cmd := exec.Command("git", "rebase", "main")
		cmd.Dir, cmd.Env = x.tree, testenv.GitEnv(x.repo.Home)
		if err := cmd.Run(); err == nil {
			t.Fatal("the rebase has no conflict")
		}
		x.prepare(false)
		x.run("git status | grep rebas; echo both >file; git add file; git rebase --continue")
		out := x.bring()
		if !out.Complete() || len(out.Pinned) == 0 && out.Commits == 0 {
			t.Errorf("%+v", out)
		}
	})
	t.Run("shallow", func(t *testing.T) {
		x := newWorld(t)
		clone := filepath.Join(x.top, "shallow")
		x.repo.Git("clone", "-q", "--depth", "1", "file://"+x.repo.Dir, clone)
		x.tree = filepath.Join(x.top, "tree2")
		x.repo.Git("-C", clone, "worktree", "add", "-q", x.tree, "-b", ownBranch)
		x.repo.Dir, x.w.Root, x.w.GitDir = clone, x.tree, filepath.Join(clone, ".git")
		x.open()
		x.prepare(false)
		x.run("git log --oneline; echo n >n; git add n; git commit -qm new; git fsck --no-progress")
		if out := x.bring(); out.Commits != 1 {
			t.Errorf("%+v", out)
		}
		x.host("fsck", "--no-progress")
	})
	t.Run("partial", func(t *testing.T) {
		x := newWorld(t)
		clone := filepath.Join(x.top, "partial")
		x.repo.Git("config", "uploadpack.allowFilter", "true")
		for _, text := range []string{"in no checkout", "in all"} {
			x.repo.Write("file", text)
			x.repo.Commit(text)
		}
		x.repo.Git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+x.repo.Dir, clone)
		x.tree = filepath.Join(x.top, "tree2")
		x.repo.Git("-C", clone, "worktree", "add", "-q", x.tree, "-b", ownBranch)
		missing := strings.Count(x.repo.Git("-C", clone, "rev-list", "--all", "--objects", "--missing=print"), "?")
		x.repo.Dir, x.w.Root, x.w.GitDir = clone, x.tree, filepath.Join(clone, ".git")
		x.open()
		x.prepare(false)
		x.run("echo n >n; git add n; git commit -qm new; git switch -qc other; git rm -q dir/0; git commit -qm removed; git switch -q mine; git status")
		if out := x.bring(); out.Commits != 1 || len(out.Pinned) != 1 || !out.Complete() {
			t.Errorf("%+v", out)
		}
		if now := strings.Count(x.repo.Git("-C", clone, "rev-list", "--all", "--objects", "--missing=print"), "?"); missing == 0 || now != missing {
			t.Errorf("%d objects are missing, and %d were", now, missing)
		}
	})
}
