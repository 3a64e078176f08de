package quarantine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/quarantine"
)

func TestCommitsArrive(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	before, refs := x.files(), x.refs()
	x.run("echo new >new; git add new; git commit -qm inside; git commit -q --allow-empty -m again")
	if got := changed(before, x.files(), func(string) bool { return false }); got != nil {
		t.Errorf("the session changed %q", got)
	}
	if pending, err := x.q.Pending(t.Context()); !pending || err != nil {
		t.Errorf("pending: %v, %v", pending, err)
	}
	out := x.bring()
	if out.Commits != 2 || out.Conflict || !out.Complete() || out.IndexKept != "" || out.Branch != ownBranch {
		t.Errorf("%+v", out)
	}
	if subject := x.host("log", "-1", "--format=%s", ownBranch); subject != "again" {
		t.Errorf("the branch is at %q", subject)
	}
	if status := x.host("status", "--porcelain"); status != "" {
		t.Errorf("status: %s", status)
	}
	if x.host("fsck", "--no-progress", "--strict") != "" {
		t.Error("fsck complains")
	}
	if got := strings.ReplaceAll(x.refs(), out.After, out.Before); got != refs {
		t.Errorf("other refs moved:\n%s\n%s", refs, got)
	}
	if pending, err := x.q.Pending(t.Context()); pending || err != nil {
		t.Errorf("pending after the import: %v, %v", pending, err)
	}
	if again := x.bring(); again.Commits != 0 || again.Before != out.After || again.After != out.After {
		t.Errorf("once more: %+v", again)
	}
}

// What is on no branch of the workspace is kept by refs of ours.
func TestEverythingElseIsPinned(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run(`git switch -qc feature/x; echo f >f; git add f; git commit -qm feature
		echo s >s; git add s; git stash -q; git tag light; git tag -a -m annotated heavy
		git notes add -m note; git switch -q --detach; echo d >d; git add d; git commit -qm detached
		echo staged >staged; git add staged`)
	out := x.bring()
	if out.Head == "" || out.Commits != 0 || !out.Complete() {
		t.Errorf("%+v", out)
	}
	prefix := quarantine.RefsOf(x.w.ID)
	for ref, file := range map[string]string{"heads/feature%2fx": "f", "HEAD": "d", "index": "staged", "tags/light": "f", "tags/heavy": "f"} {
		x.repo.Git("cat-file", "-e", prefix+ref+":"+file)
	}
	if found := x.repo.Git("for-each-ref", "--format=%(refname)", prefix+"stash", prefix+"notes"); strings.Count(found, "\n") != 1 {
		t.Errorf("stash and notes: %s", found)
	}
	x.repo.Git("gc", "-q", "--prune=now")
	x.repo.Git("fsck", "--no-progress")
	x.run("git fsck --no-progress; git stash pop -q; git switch -q mine")
}

func TestBranchThatMovedOutsideToo(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run("echo i >i; git add i; git commit -qm inside")
	x.host("commit", "-q", "--allow-empty", "-m", "outside")
	outside := x.host("rev-parse", ownBranch)
	for range 2 {
		out := x.bring()
		if !out.Conflict || x.host("rev-parse", ownBranch) != outside {
			t.Errorf("%+v", out)
		}
		if subject := x.host("log", "-1", "--format=%s", quarantine.RefsOf(x.w.ID)+"heads/"+ownBranch); subject != "inside" {
			t.Errorf("kept: %q", subject)
		}
	}
	if err := x.q.Remove(t.Context(), false); !errors.Is(err, quarantine.ErrPending) {
		t.Errorf("removed: %v", err)
	}
	x.prepare(false)
	if len(x.access.Notes) == 0 || !strings.Contains(x.access.Notes[0], "has other commits outside") {
		t.Errorf("notes: %q", x.access.Notes)
	}
	// The user merges what is kept: then there is nothing left to import.
	if err := os.Remove(filepath.Join(x.tree, "i")); err != nil {
		t.Fatal(err)
	}
	x.host("merge", "-q", "--no-edit", quarantine.RefsOf(x.w.ID)+"heads/"+ownBranch)
	if out := x.bring(); out.Conflict {
		t.Errorf("after the merge: %+v", out)
	}
}

// What is staged on the user's side since is not touched.
func TestIndexWithStagedFilesStays(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run("echo i >i; git add i; git commit -qm inside")
	x.repo.Git("-C", x.tree, "rm", "-q", "--cached", "dir/0")
	out := x.bring()
	if out.IndexKept == "" || out.Commits != 1 {
		t.Errorf("%+v", out)
	}
	if staged := x.host("diff", "--cached", "--name-only", out.Before); staged != "dir/0" {
		t.Errorf("staged: %q", staged)
	}
}

func TestNextSessionSeesBothSides(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run("git switch -qc feature; git commit -q --allow-empty -m feature; git switch -q mine; git commit -q --allow-empty -m one")
	x.bring()
	if err := os.WriteFile(filepath.Join(x.tree, "h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.host("add", "h")
	x.host("commit", "-qm", "outside")
	x.repo.Git("commit", "-q", "--allow-empty", "-m", "on main")
	x.repo.Git("branch", "late")
	x.prepare(false)
	for revision, want := range map[string]string{"HEAD": "outside", "feature": "feature", "main": "on main", "late": "on main"} {
		if got := x.run("git log -1 --format=%s " + revision); got != want {
			t.Errorf("%s is at %q, want %q", revision, got, want)
		}
	}
	if status := x.run("git status --porcelain"); status != "" {
		t.Errorf("status: %s", status)
	}
	x.run("git commit -q --allow-empty -m two")
	if out := x.bring(); out.Commits != 1 || out.Conflict {
		t.Errorf("%+v", out)
	}
}
