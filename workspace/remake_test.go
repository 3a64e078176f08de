package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

// deleteClean makes a workspace whose commit is on main too, and deletes it: no
// snapshot is kept.
func deleteClean(t *testing.T, m *workspace.Manager, repo string) workspace.Workspace {
	t.Helper()
	w := create(t, m, request(repo, "w1"))
	commit(t, w.Root, "c.txt", "3\n")
	runGit(t, repo, "merge", "-q", "--ff-only", w.Branch)
	tip, err := m.Tip(context.Background(), w)
	if err != nil || tip == "" {
		t.Fatalf("tip %q, %v", tip, err)
	}
	loss, err := m.Delete(context.Background(), w, false, nil)
	if err != nil || !loss.Empty() || loss.Restorable {
		t.Fatalf("%+v, %v", loss, err)
	}
	if out, err := tryGit(repo, "rev-parse", "--verify", w.Branch); err == nil {
		t.Fatalf("branch %s is there still, at %s", w.Branch, out)
	}
	w.RestoreFrom, w.Tip = workspace.FromTip, tip
	return w
}

// checkRemade checks that the workspace is whole on branch.
func checkRemade(t *testing.T, w workspace.Workspace, branch string) {
	t.Helper()
	if got := runGit(t, w.Root, "status", "--porcelain", "--branch"); got != "## "+branch {
		t.Errorf("status %q, want branch %s", got, branch)
	}
	if content, err := os.ReadFile(filepath.Join(w.Root, "c.txt")); err != nil || string(content) != "3\n" {
		t.Errorf("c.txt: %q, %v", content, err)
	}
	if list := runGit(t, w.Repository, "worktree", "list", "--porcelain"); !strings.Contains(list, "locked middleman workspace "+w.ID) {
		t.Errorf("it is not locked as ours:\n%s", list)
	}
}

func TestRestoreOfAClean(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := deleteClean(t, m, newRepo(t))
	back, notes, err := m.Restore(context.Background(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkRemade(t, back, w.Branch)
	if len(notes) != 1 || !strings.Contains(notes[0], "made again from commit "+w.Tip[:12]) {
		t.Errorf("notes %q", notes)
	}
	if back.RestoreFrom != workspace.FromSnapshot || back.Tip != "" || back.State != workspace.StateReady || back.Root != w.Root {
		t.Errorf("restored: %+v", back)
	}
	if _, err := m.Delete(context.Background(), back, false, nil); err != nil {
		t.Errorf("delete it again: %v", err)
	}
}

// Its branch is somebody else's by now: that one stays as it is.
func TestRestoreOfACleanUnderATakenBranch(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := deleteClean(t, m, newRepo(t))
	runGit(t, w.Repository, "branch", w.Branch, "main~1")
	theirs := runGit(t, w.Repository, "rev-parse", w.Branch)
	back, notes, err := m.Restore(context.Background(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkRemade(t, back, w.Branch+"-2")
	if back.Branch != w.Branch+"-2" || len(notes) != 2 || !strings.Contains(notes[0], "belongs to something else now") {
		t.Errorf("branch %s, notes %q", back.Branch, notes)
	}
	if now := runGit(t, w.Repository, "rev-parse", w.Branch); now != theirs {
		t.Errorf("their branch is at %s, was at %s", now, theirs)
	}
}

// Nothing that the repository's configuration names runs to fill it.
func TestRestoreOfACleanRunsNothing(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := deleteClean(t, m, newRepo(t))
	ran := filepath.Join(filepath.Dir(base), "ran")
	write(t, w.Repository+"/.git/info/attributes", "* filter=evil\n")
	runGit(t, w.Repository, "config", "filter.evil.smudge", "sh -c 'touch "+ran+"; cat'")
	write(t, w.Repository+"/.git/hooks/post-checkout", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(w.Repository+"/.git/hooks/post-checkout", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a program of the repository ran")
	}
}

func TestRestoreOfACleanRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *workspace.Workspace)
		want error
	}{
		{"nothing is kept", func(_ *testing.T, w *workspace.Workspace) { w.RestoreFrom = workspace.FromNothing }, workspace.ErrNoSnapshot},
		{"an unknown source", func(_ *testing.T, w *workspace.Workspace) { w.RestoreFrom = "moon" }, workspace.ErrNoSnapshot},
		{"no tip", func(_ *testing.T, w *workspace.Workspace) { w.Tip = "" }, workspace.ErrNoSnapshot},
		{"a commit that is gone", func(_ *testing.T, w *workspace.Workspace) { w.Tip = strings.Repeat("1", 40) }, workspace.ErrNoSnapshot},
		{"a branch that git cannot have", func(_ *testing.T, w *workspace.Workspace) { w.Branch = "a..b" }, nil},
		{"its place is taken", func(t *testing.T, w *workspace.Workspace) {
			w.Root = filepath.Join(baseOf(*w), w.ID) // of an earlier version
			write(t, w.Root+"/mine", "x")
		}, workspace.ErrOccupied},
		{"elsewhere", func(_ *testing.T, w *workspace.Workspace) { w.Root = "/tmp/w1" }, workspace.ErrEscapes},
		{"repository gone", func(_ *testing.T, w *workspace.Workspace) { os.RemoveAll(w.Repository) }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := deleteClean(t, m, newRepo(t))
			tc.do(t, &w)
			_, _, err := m.Restore(context.Background(), w, nil)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			left, err := os.ReadDir(base)
			if taken := errors.Is(tc.want, workspace.ErrOccupied); err != nil || !taken && len(left) != 0 || taken && len(left) != 1 {
				t.Errorf("left in the base: %v, %v", left, err)
			}
		})
	}
}

// An empty directory of ours is made again, and the user's own is still there.
func TestRestoreOfADirectory(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	ctx := context.Background()
	w := create(t, m, workspace.CreateRequest{ID: "w1", Name: "notes", Mode: workspace.ModeDirectory})
	if _, err := m.Delete(ctx, w, false, nil); err != nil {
		t.Fatal(err)
	}
	w.RestoreFrom = workspace.FromTip
	for range 2 { // the second time as after a kill
		if _, _, err := m.Restore(ctx, w, nil); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w.Root+"/note", "x")
	if _, _, err := m.Restore(ctx, w, nil); !errors.Is(err, workspace.ErrOccupied) {
		t.Errorf("over a file: %v", err)
	}
	here := create(t, m, workspace.CreateRequest{ID: "w2", Name: "here", Mode: workspace.ModeInPlace, Directory: t.TempDir()})
	here.RestoreFrom = workspace.FromTip
	if back, _, err := m.Restore(ctx, here, nil); err != nil || back.State != workspace.StateReady || back.Root != here.Root {
		t.Errorf("in place: %+v, %v", back, err)
	}
	here.Root += "/gone"
	if _, _, err := m.Restore(ctx, here, nil); !errors.Is(err, workspace.ErrMissing) {
		t.Errorf("in place, gone: %v", err)
	}
}
