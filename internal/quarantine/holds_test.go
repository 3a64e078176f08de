package quarantine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace/model"
)

// holds imports, and returns what Holds lists, one line each with its kind.
func (x *world) holds() string {
	x.t.Helper()
	x.bring()
	loss, err := x.q.Holds(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	var lines []string
	for _, list := range []struct {
		kind    string
		entries []string
	}{{"commit: ", loss.Commits}, {"stash ", loss.Stashed}, {"info ", loss.Abandoned}} {
		for _, entry := range list.entries {
			lines = append(lines, list.kind+strings.TrimPrefix(entry, model.InSandbox))
		}
	}
	if loss.Operation != "" {
		lines = append(lines, loss.Operation)
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestHolds(t *testing.T) {
	const another = "git switch -qc other; echo o >o; git add o; git commit -qm onother; "
	for _, test := range []struct {
		name, script string
		want, never  []string // what lines contain
		work         bool     // a reason to refuse a delete
	}{
		{"nothing", "true", nil, []string{"commit: ", "info"}, false},
		{"commits of the branch, which arrive", "echo o >o; git add o; git commit -qm arrives", nil, []string{"commit: ", "info"}, false},
		{"a commit of the reflog", "echo o >o; git add o; git commit -qm lost; git reset -q --hard HEAD~1", []string{"info ", " lost\n"}, []string{"commit: "}, false},
		{"no reflog any more", "echo o >o; git add o; git commit -qm lost; git reset -q --hard HEAD~1; git reflog expire --expire=now --all", []string{"info ", " lost\n"}, nil, false},
		{"in a pack", "echo o >o; git add o; git commit -qm lost; git reset -q --hard HEAD~1; git repack -qad; git prune-packed", []string{"info ", " lost\n"}, nil, false},
		{"a dropped stash", "echo o >>file; git stash -q; git stash drop -q", []string{"info ", "WIP on mine"}, []string{"stash "}, false},
		{"a stash", "echo o >>file; git stash -q", []string{"stash WIP on mine"}, []string{"info "}, true},
		{"another branch", another + "git switch -q mine", []string{"commit: ", " onother\n", "info branch other at "}, []string{"HEAD on"}, true},
		{"HEAD on another branch", another, []string{"commit: ", " onother\n", "info HEAD on branch other\n"}, nil, true},
		{"another branch without commits", "git branch other HEAD~1", []string{"info branch other at "}, []string{"commit: "}, false},
		{"a detached HEAD", "git switch -q --detach; git commit -q --allow-empty -m detached", []string{"commit: ", " detached\n", "info HEAD at "}, nil, true},
		{"tags", "git tag light HEAD~1; git tag -a -m text heavy; git commit -q --allow-empty -m tagged; git tag on; git reset -q --hard HEAD~1",
			[]string{"info tag light at ", "info tag heavy at ", "info tag on at ", " tagged\n"}, []string{"commit: "}, false},
		{"a branch that the remote has", "git fetch -q origin; git switch -qc other origin/main", []string{"info branch other"}, []string{"commit: "}, false},
		{"a rebase", `echo 1 >file; git commit -qam one; git switch -qc side HEAD~1; echo 2 >file; git commit -qam two; git rebase -q mine 2>/dev/null || true`,
			[]string{"rebase\n", "commit: ", " two\n", "info branch side at"}, nil, true},
		{"a bisect", "git bisect start -q HEAD HEAD~2 >/dev/null", []string{"bisect\n"}, []string{"commit: "}, true},
		{"an amended commit", "git commit -q --allow-empty -m first; git commit -q --amend --allow-empty -m second", []string{"info ", " first\n"}, []string{"second"}, false},
		{"a long subject", "git commit -q --allow-empty -m $(printf %0100000d 1); git reset -q --hard HEAD~1", []string{"info "}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := newWorld(t)
			x.prepare(false)
			x.run(test.script)
			got := x.holds()
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, never := range test.never {
				if strings.Contains(got, never) {
					t.Errorf("%q in\n%s", never, got)
				}
			}
			loss, err := x.q.Holds(t.Context())
			if err != nil || loss.Empty() == test.work {
				t.Errorf("%+v, %v, want work %v", loss, err, test.work)
			}
		})
	}
}

// After a delete removed the checkout and the branch, what it recorded as the branch's
// commit is not in the sandbox alone.
func TestHoldsWithoutTheCheckout(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run("git commit -q --allow-empty -m inside")
	out := x.bring()
	x.repo.Git("worktree", "remove", x.tree)
	x.repo.Git("branch", "-D", ownBranch)
	x.w.Tip = out.After
	x.open()
	if loss, err := x.q.Holds(t.Context()); err != nil || !loss.Nothing() {
		t.Errorf("%+v, %v", loss, err)
	}
	x.w.Tip = ""
	x.open()
	if loss, err := x.q.Holds(t.Context()); err != nil || len(loss.Commits) != 1 {
		t.Errorf("without its commit: %+v, %v", loss, err)
	}
}

// What a program did to the private directory makes an error, or something to keep, never
// nothing.
func TestHoldsOfADamagedDirectory(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"no objects": func(dir string) error {
			return os.Rename(filepath.Join(dir, "objects"), filepath.Join(dir, "moved"))
		},
		"a link for the objects of one beginning": func(dir string) error {
			return os.Symlink("/", filepath.Join(dir, "objects", "zz"))
		},
		"a pack that is none": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "objects", "pack", "pack-1.idx"), []byte("no index"), 0o600)
		},
		"HEAD": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "worktrees", "tree", "HEAD"), []byte("nowhere"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t)
			x.prepare(false)
			x.run("git commit -q --allow-empty -m lost; git reset -q --hard HEAD~1")
			if err := damage(filepath.Join(x.top, "quarantine", "git")); err != nil {
				t.Fatal(err)
			}
			if loss, err := x.q.Holds(t.Context()); err == nil && loss.Nothing() {
				t.Error("it has nothing")
			}
		})
	}
}
