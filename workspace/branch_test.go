package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

// A branch whose name is a directory in the new one's, or the other way
// round, is named.
func TestBranchInWay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, existing, asked, branch string }{
		{"the prefix", "middleman", "", "middleman/fix"},
		{"above what was asked for", "main", "main/sub", "main/sub"},
		{"far above", "a", "a/b/c", "a/b/c"},
		{"below", "a/b", "a", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			if tc.existing != "main" {
				runGit(t, repo, "branch", tc.existing)
			}
			m, base := newManager(t)
			before := state(t, repo, base)
			r := request(repo, "w1")
			r.Branch = tc.asked
			_, err := m.Create(context.Background(), r, nil)
			got, ok := errors.AsType[*workspace.BranchInWayError](err)
			if !ok || !errors.Is(err, workspace.ErrBranchTaken) || got.By != tc.existing || got.Branch != tc.branch || !strings.Contains(err.Error(), "--branch") {
				t.Errorf("error %v", err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A prefix of the settings gives no branch that --branch refuses.
func TestBranchPrefix(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	for _, prefix := range []string{"--help", "refs", "a..b", "a b"} {
		base := filepath.Join(t.TempDir(), "data", "work")
		m := workspace.New(workspace.Options{Base: base, Prefix: prefix})
		before := state(t, repo, base)
		if _, err := m.Create(context.Background(), request(repo, "w1"), nil); !errors.Is(err, workspace.ErrBadName) || !strings.Contains(err.Error(), prefix+"/fix") {
			t.Errorf("%q: %v", prefix, err)
		}
		if after := state(t, repo, base); after != before {
			t.Errorf("%q left behind:\n%s\nbefore:\n%s", prefix, after, before)
		}
	}
}

// Names that git would take, and then read as another ref.
func TestBranchNameOfAnotherRef(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	before := state(t, repo, base)
	for _, name := range []string{"@", "HEAD", "refs/heads/q", "refs/q", "-q", "a..b", "a b", "a.lock"} {
		r := request(repo, "w1")
		r.Branch = name
		if _, err := m.Create(context.Background(), r, nil); !errors.Is(err, workspace.ErrBadName) || !strings.Contains(err.Error(), name) {
			t.Errorf("branch %q: %v", name, err)
		}
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

// A branch that exists is used as it is, and a delete leaves it. One that only
// a remote has is made here, tracks it, and goes with the workspace.
func TestExistingBranch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, branch, base, upstream string
		own                          bool
	}{
		{name: "local", branch: "feature/x", base: "origin/main"},
		{name: "of the remote", branch: "feature/far", base: "origin/main", upstream: "origin/feature/far", own: true},
		{name: "new", branch: "feature/new", base: "main", own: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			far := newRepo(t)
			runGit(t, far, "checkout", "-q", "-b", "feature/far")
			commit(t, far, "far.txt", "far\n")
			runGit(t, far, "checkout", "-q", "main")
			repo := newRepo(t)
			runGit(t, repo, "remote", "add", "origin", far)
			runGit(t, repo, "fetch", "-q", "origin")
			runGit(t, repo, "checkout", "-q", "-b", "feature/x")
			commit(t, repo, "x.txt", "x\n")
			runGit(t, repo, "checkout", "-q", "main")
			began := runGit(t, repo, "rev-parse", "main")
			m, base := newManager(t)
			before := state(t, repo, base)

			r := request(repo, "w1")
			r.Branch = tc.branch
			w := create(t, m, r)
			if w.Branch != tc.branch || w.OwnBranch != tc.own || w.Base != tc.base || w.BaseCommit != began {
				t.Errorf("%+v", w)
			}
			if got := runGit(t, w.Root, "branch", "--show-current"); got != tc.branch {
				t.Errorf("on branch %s", got)
			}
			if got := runGit(t, repo, "for-each-ref", "--format=%(upstream:short)", "refs/heads/"+tc.branch); got != tc.upstream {
				t.Errorf("tracks %q", got)
			}
			if got := runGit(t, w.Root, "status", "--porcelain"); got != "" {
				t.Errorf("status %s", got)
			}
			again := request(repo, "w2")
			again.Name, again.Branch = "again", tc.branch
			_, err := m.Create(context.Background(), again, nil)
			if inUse, ok := errors.AsType[*workspace.BranchInUseError](err); !ok || inUse.Path != w.Root || !errors.Is(err, workspace.ErrBranchTaken) {
				t.Errorf("a second worktree of it: %v", err)
			}
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Fatal(err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A branch of several remotes is nobody's guess, unless git's own setting says
// whose it is.
func TestBranchOfSeveralRemotes(t *testing.T) {
	t.Parallel()
	far, repo := newRepo(t), newRepo(t)
	runGit(t, far, "branch", "feature/x")
	for _, remote := range []string{"here", "there"} {
		runGit(t, repo, "remote", "add", remote, far)
		runGit(t, repo, "fetch", "-q", remote)
	}
	m, base := newManager(t)
	before := state(t, repo, base)
	r := request(repo, "w1")
	r.Branch = "feature/x"
	if _, err := m.Create(context.Background(), r, nil); !errors.Is(err, workspace.ErrBranchTaken) || !strings.Contains(err.Error(), "here, there") {
		t.Errorf("error %v", err)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	runGit(t, repo, "config", "checkout.defaultRemote", "there")
	create(t, m, r)
	if got := runGit(t, repo, "for-each-ref", "--format=%(upstream:short)", "refs/heads/feature/x"); got != "there/feature/x" {
		t.Errorf("tracks %s", got)
	}
}

// A killed creation of a branch that was there leaves it there.
func TestUndoLeavesExistingBranch(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	runGit(t, repo, "branch", "feature/x")
	m, base := newManager(t)
	before := state(t, repo, base)
	r := request(repo, "w1")
	r.Branch = "feature/x"
	if _, err := m.Begin(context.Background(), r, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Undo(context.Background(), recorded(r), false); err != nil {
		t.Fatal(err)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}
