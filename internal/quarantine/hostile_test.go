package quarantine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/quarantine"
	"middleman/internal/testenv"
)

// plant is a script that plants something.
type plant struct {
	name    string
	script  string
	refused bool
}

// plants are what a program in the sandbox leaves so that git of the user's runs it: a
// script that makes the file PWN below the workspace's directory if it is run. Each ends
// with status 0, or with another if the sandbox already refuses it.
var plants = []plant{
	{"hooks", `d=$(git rev-parse --git-common-dir)/hooks; mkdir -p $d; for h in post-checkout pre-commit post-commit post-merge pre-rebase post-rewrite reference-transaction post-index-change pre-auto-gc fsmonitor-watchman pre-push; do printf '#!/bin/sh\ntouch PWN\n' >$d/$h; chmod +x $d/$h; done`, false},
	{"core.hooksPath", `mkdir h; printf '#!/bin/sh\ntouch PWN\n' >h/post-checkout; chmod +x h/post-checkout; git config core.hooksPath $PWD/h`, false},
	{"fsmonitor", `git config core.fsmonitor 'touch PWN; false'`, false},
	{"config that names programs", `git config core.sshCommand 'touch PWN'; git config core.pager 'touch PWN; cat'; git config core.editor 'touch PWN'; git config diff.external 'touch PWN'; git config gpg.program 'touch PWN'; git config alias.status '!touch PWN'; git config core.alternateRefsCommand 'touch PWN'; git config uploadpack.packObjectsHook 'touch PWN'; git config credential.helper '!touch PWN'`, false},
	{"include", `printf '[core]\n fsmonitor = "touch PWN; false"\n' >inc; git config include.path $PWD/inc`, false},
	{"filters", `git config filter.x.clean 'touch PWN; cat'; git config filter.x.smudge 'touch PWN; cat'; git config filter.x.process 'touch PWN'; git config diff.x.textconv 'touch PWN; cat'; git config merge.x.driver 'touch PWN'; echo '* filter=x diff=x merge=x' >.gitattributes; git add .gitattributes 2>/dev/null || true; echo '* filter=x' >$(git rev-parse --git-common-dir)/info/attributes`, false},
	{"attr.tree", `git config attr.tree HEAD; echo '* filter=x' >.gitattributes; git config filter.x.clean 'touch PWN; cat'`, false},
	{"config.worktree", `git config extensions.worktreeConfig true; git config --worktree core.fsmonitor 'touch PWN; false'`, false},
	{"commondir", `git init -q ev; git -C ev config core.fsmonitor 'touch PWN; false'; echo $PWD/ev/.git >$(git rev-parse --git-dir)/commondir`, false},
	{"commondir of the repository", `git init -q ev; git -C ev config core.fsmonitor 'touch PWN; false'; echo $PWD/ev/.git >$(git rev-parse --git-common-dir)/commondir`, false},
	{"gitdir", `echo /nowhere/.git >$(git rev-parse --git-dir)/gitdir`, false},
	{"alternates", `git init -q ev; echo $PWD/ev/.git/objects >>$(git rev-parse --git-common-dir)/objects/info/alternates; echo evil >e; h=$(git -C ev hash-object -w ../e); git update-index --add --cacheinfo 100644,$h,e; git commit -qm evil`, false},
	{".git replaced", `rm -f .git`, true},
	{".git renamed", `mv .git x`, true},
	{".git written", `echo "gitdir: $PWD/ev" >.git`, true},
	{"checkout renamed", `mv $PWD ${PWD}2`, true},
	{"a stopped rebase with commands", `d=$(git rev-parse --git-dir)/rebase-merge; mkdir $d; echo refs/heads/mine >$d/head-name; git rev-parse HEAD >$d/onto; git rev-parse HEAD >$d/orig-head; echo 'exec touch PWN' >$d/git-rebase-todo; : >$d/done; echo 1 >$d/msgnum; echo 1 >$d/end; : >$d/interactive`, false},
	{"a submodule, committed", `git init -q sub; git -C sub commit -q --allow-empty -m s; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; git commit -qm sub; git -C sub config core.fsmonitor 'touch PWN; false'`, false},
	{"a submodule, committed and removed", `git init -q sub; git -C sub commit -q --allow-empty -m s; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; git commit -qm sub; git rm -q --cached sub; git commit -qm 'no sub'; git -C sub config core.fsmonitor 'touch PWN; false'`, false},
	{"a submodule, staged", `git init -q sub; git -C sub commit -q --allow-empty -m s; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; git -C sub config core.fsmonitor 'touch PWN; false'`, false},
	{"a submodule by a merge", `git switch -qc side; git init -q sub; git -C sub commit -q --allow-empty -m s; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; git commit -qm sub; git switch -q mine; git merge -q --no-ff --no-edit side; git -C sub config core.fsmonitor 'touch PWN; false'`, false},
	{"a submodule by modules", `d=$(git rev-parse --git-dir)/modules; git init -q sub; git -C sub commit -q --allow-empty -m s; c=$(git -C sub rev-parse HEAD); git -C sub config core.fsmonitor 'touch PWN; false'; mkdir -p $d; mv sub/.git $d/sub; echo "gitdir: $d/sub" >sub/.git; git update-index --add --cacheinfo 160000,$c,sub; git commit -qm sub`, false},
	{"an evil .gitmodules", `printf '[submodule "x"]\n path = x\n url = --upload-pack=touch PWN\n' >.gitmodules; git add .gitmodules; git commit -qm m`, false},
	{"a ref with options", `git update-ref refs/heads/--upload-pack=x HEAD || true; d=$(git rev-parse --git-common-dir); echo "$(git rev-parse HEAD) refs/heads/--exec=touch" >>$d/packed-refs`, false},
	{"links in place of files", `d=$(git rev-parse --git-dir); rm -f $d/ORIG_HEAD; ln -s /etc/passwd $d/MERGE_HEAD; ln -s /etc/passwd $d/MERGE_AUTOSTASH`, false},
	{"a pipe in place of a file", `d=$(git rev-parse --git-dir); mkfifo $d/MERGE_HEAD`, false},
}

// hostCommands are what the user does in the worktree afterwards, and the first line of
// them in the main checkout too.
const hostCommands = `git status; git status -sb; git diff; git diff HEAD~1; git diff --cached; git log -3 -p; git log --oneline --all --graph
git show; git blame file; git grep two; git branch -a; git worktree list; git ls-files -s; git stash list; git for-each-ref; git describe --always
git add file; git commit -q --allow-empty -m host; git commit -q --amend -m host2; git stash; git stash pop; git checkout -q -- file; git restore file
git switch -q -c hostside; git switch -q mine; git merge -q --no-edit hostside; git rebase -q main; git reset -q; git reset -q --hard; git cherry-pick main
git rebase --abort; git revert --no-edit HEAD; git tag t; git fetch -q origin; git pull -q --rebase origin main; git push -q origin mine; git rm -q dir/0; git mv file f2
git bisect start; git bisect reset; git clean -n; git submodule status; git gc -q; git fsck --no-progress; git archive HEAD >/dev/null; git notes add -m n; git reflog; git rev-parse HEAD`

// runHostCommands runs them until what was planted has run, and returns the command that
// ran it, or "".
func (x *world) runHostCommands(mark string) string {
	dirs := []string{x.repo.Dir, x.tree}
	for line := range strings.SplitSeq(hostCommands, "\n") {
		for command := range strings.SplitSeq(line, "; ") {
			for _, dir := range dirs {
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir, cmd.Env = dir, append(testenv.GitEnv(x.repo.Home), "GIT_EDITOR=true", "GIT_PAGER=cat")
				_ = cmd.Run() // some fail, which is no matter
				if _, err := os.Lstat(mark); err == nil {
					return command + " in " + dir
				}
			}
		}
		dirs = []string{x.tree} // what only reads is enough in the main checkout
	}
	return ""
}

// The same plants run when a program leaves them without a sandbox: the test above them
// looks in the right places.
func TestPlantsRunWithoutASandbox(t *testing.T) {
	for _, name := range []string{"hooks", "core.hooksPath", "fsmonitor", "config that names programs", "include", "filters", "commondir", "config.worktree",
		"a submodule, committed", "a submodule, staged", "a submodule by modules"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)
			mark := filepath.Join(x.top, "ran")
			for _, plant := range plants {
				if plant.name != name {
					continue
				}
				cmd := exec.Command("bash", "-ec", strings.ReplaceAll(plant.script, "PWN", mark))
				cmd.Dir, cmd.Env = x.tree, testenv.GitEnv(x.repo.Home)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			if x.runHostCommands(mark) == "" {
				t.Error("it did not run")
			}
		})
	}
}

// inMain are plants that are tried in the main checkout too.
var inMain = []string{"hooks", "config that names programs", "filters", "commondir of the repository", ".git replaced", ".git renamed", ".git written",
	"checkout renamed", "a submodule, committed", "a submodule by modules"}

func TestNothingPlantedRunsOutside(t *testing.T) {
	for _, plant := range plants {
		t.Run(plant.name, func(t *testing.T) { testPlant(t, newWorld(t), plant) })
		if slices.Contains(inMain, plant.name) {
			t.Run(plant.name+", main checkout", func(t *testing.T) { testPlant(t, newWorld(t).inMainCheckout(), plant) })
		}
	}
}

func testPlant(t *testing.T, x *world, plant plant) {
	t.Parallel()
	x.prepare(false)
	before := x.files()
	mark := filepath.Join(x.top, "ran")
	out, err := x.try(strings.ReplaceAll(plant.script, "PWN", mark))
	if (err != nil) != plant.refused {
		t.Fatalf("plant: %v\n%s", err, out)
	}
	if got := changed(before, x.files(), func(string) bool { return false }); got != nil {
		t.Errorf("the session changed %q", got)
	}
	// What comes out, or does not, is a matter of the plant; but it must end.
	result, err := x.q.Import(t.Context())
	if err != nil && !errors.Is(err, quarantine.ErrUnreadable) {
		t.Errorf("import: %v", err)
	}
	if strings.HasPrefix(plant.name, "a submodule") && result.Submodules == nil && result.IndexKept == "" {
		t.Errorf("a submodule came out: %+v", result)
	}
	if command := x.runHostCommands(mark); command != "" {
		t.Errorf("%s ran what was planted", command)
	}
	if _, err := x.q.Import(t.Context()); err != nil && !errors.Is(err, quarantine.ErrUnreadable) {
		t.Errorf("import afterwards: %v", err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("the import ran what was planted")
	}
}

// A private directory that was destroyed is set aside, and the next session has a new one.
func TestDestroyedDirectory(t *testing.T) {
	for name, script := range map[string]string{
		"everything removed":   `rm -rf $(git rev-parse --git-common-dir)/* || true`,
		"HEAD":                 `echo x >$(git rev-parse --git-dir)/HEAD`,
		"config":               `echo '[' >$(git rev-parse --git-common-dir)/config`,
		"an index of rubbish":  `echo x >$(git rev-parse --git-dir)/index`,
		"directories as links": `d=$(git rev-parse --git-common-dir); mv $d/worktrees $d/w; ln -s / $d/worktrees`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)
			x.prepare(false)
			x.run("git commit -q --allow-empty -m lost; " + script)
			if pending, err := x.q.Pending(t.Context()); err == nil && !pending {
				t.Error("nothing is pending")
			}
			if _, err := x.q.Import(t.Context()); !errors.Is(err, quarantine.ErrUnreadable) {
				t.Errorf("import: %v", err)
			}
			x.prepare(false)
			if len(x.access.Notes) == 0 || !strings.Contains(x.access.Notes[0], "git.broken-1") {
				t.Errorf("notes: %q", x.access.Notes)
			}
			x.run("git commit -q --allow-empty -m again; git fsck --no-progress")
			if out := x.bring(); out.Commits != 1 {
				t.Errorf("%+v", out)
			}
		})
	}
}

// What is damaged does not keep what is whole from arriving.
func TestDamagedRefDoesNotHoldOthersUp(t *testing.T) {
	x := newWorld(t)
	x.prepare(false)
	x.run(`git branch whole; git commit -q --allow-empty -m fine; git switch -qc broken; echo b >b; git add b; git commit -qm broken
		o=$(git rev-parse HEAD:b); d=$(git rev-parse --git-common-dir); rm -f $d/objects/${o%${o#??}}/${o#??}
		echo 1234567812345678123456781234567812345678 >$d/refs/heads/nowhere; git switch -q mine`)
	out := x.bring()
	if out.Commits != 1 || len(out.Missed) != 2 || out.Complete() {
		t.Errorf("%+v", out)
	}
	x.repo.Git("cat-file", "-e", quarantine.RefsOf(x.w.ID)+"heads/whole")
	if err := x.q.Remove(t.Context(), false); !errors.Is(err, quarantine.ErrPending) {
		t.Errorf("removed: %v", err)
	}
	if err := x.q.Remove(t.Context(), true); err != nil {
		t.Error(err)
	}
	x.host("fsck", "--no-progress")
	if left := x.repo.Git("for-each-ref", "--format=%(refname)", quarantine.RefsOf(x.w.ID)); strings.Contains(left, "base") || !strings.Contains(left, "whole") {
		t.Errorf("left: %s", left)
	}
}

// A submodule that the user has is read-only in the sandbox, whatever its depth; where a
// directory above it was replaced, the import says so.
func TestSubmodules(t *testing.T) {
	x := newWorld(t)
	x.repo.Git("init", "-q", "../sub")
	x.repo.Git("-C", "../sub", "commit", "-q", "--allow-empty", "-m", "s")
	for _, at := range []string{"sub", "deep/sub"} {
		x.host("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(x.top, "sub"), at)
	}
	x.host("commit", "-qm", "submodules")
	x.prepare(false)
	if status := x.run("git submodule status; git status --porcelain"); strings.Count(status, "heads/") != 2 {
		t.Errorf("status: %s", status)
	}
	for _, script := range []string{"echo x >sub/new", "mv sub x", "rm -rf sub", "echo x >deep/sub/.git", "git -C sub commit -q --allow-empty -m x", "mv deep other"} {
		if out, err := x.try(script); err == nil {
			t.Errorf("%s works\n%s", script, out)
		}
	}
	x.run("echo i >i; git add i; git commit -qm inside")
	if out := x.bring(); out.Commits != 1 || out.Planted != nil || out.Submodules != nil {
		t.Errorf("%+v", out)
	}
	if out := x.bring(); out.Planted != nil {
		t.Errorf("%+v", out)
	}
	// Where nothing can be mounted they can be replaced: an import tells, also if it has
	// nothing to bring.
	if err := os.Rename(filepath.Join(x.tree, "deep"), filepath.Join(x.tree, "other")); err != nil {
		t.Fatal(err)
	}
	x.repo.Git("init", "-q", filepath.Join(x.tree, "deep/sub"))
	if to, err := x.q.ToImport(t.Context()); !to || err != nil {
		t.Errorf("there is nothing to import: %v, %v", to, err)
	}
	if out := x.bring(); len(out.Planted) != 1 || out.Planted[0] != "deep/sub" {
		t.Errorf("%+v", out)
	}
}

// Contents of git-lfs are there inside, and what is new comes out if it is what its name says.
func TestLargeFiles(t *testing.T) {
	x := newWorld(t)
	const old, added, bad = "bb", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "3cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if err := os.MkdirAll(filepath.Join(x.w.GitDir, "lfs/objects", old), 0o700); err != nil {
		t.Fatal(err)
	}
	x.prepare(false)
	x.run(fmt.Sprintf(`o=$(head -1 $(git rev-parse --git-common-dir)/objects/info/alternates); test -d $o/../lfs/objects/bb
		d=$(git rev-parse --git-common-dir)/lfs/objects; mkdir -p $d/2c/f2 $d/3c/f2; printf hello >$d/2c/f2/%s; printf hello >$d/3c/f2/%s
		echo p >pointer; git add pointer; git commit -qm pointer`, added, bad))
	out := x.bring()
	if out.Commits != 1 || len(out.Missed) != 1 || !strings.Contains(out.Missed[0], bad) {
		t.Errorf("%+v", out)
	}
	if text, err := os.ReadFile(filepath.Join(x.w.GitDir, "lfs/objects/2c/f2", added)); string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}
