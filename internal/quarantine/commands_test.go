package quarantine_test

import (
	"regexp"
	"strings"
	"testing"
)

// commands are what people and agents do with git, in this order in one checkout: a name
// and a script that must succeed.
var commands = []struct{ name, script string }{
	{"status", "git status -sb"},
	{"add", "echo 1 >>file; git add file"},
	{"add -p", "echo 2 >>dir/0; printf 'y\\n' | git add -p dir/0; git diff --cached --quiet -- dir/0 && exit 1 || true"},
	{"add -N", "echo n >intent; git add -N intent; git add intent"},
	{"commit", "git commit -qm m1"},
	{"commit --amend", "git commit -q --amend -m m1b"},
	{"commit -a", "echo 3 >>file; git commit -qam m2"},
	{"commit --allow-empty", "git commit -q --allow-empty -m empty"},
	{"commit --fixup and autosquash", "echo f >>dir/1; git add dir/1; git commit -q --fixup=HEAD~1; git rebase -q -i --autosquash HEAD~3"},
	{"log", "git log --oneline --graph --all; git log -p -1; git log --stat -2; git log -S two --oneline"},
	{"show", "git show HEAD; git show --stat HEAD~1:file"},
	{"whatchanged", "git whatchanged -1"},
	{"diff", "git diff HEAD~2; git diff --stat main; git diff --cached; git diff --no-index file dir/0 || true"},
	{"blame", "git blame file"},
	{"grep", "git grep -n two; git grep two HEAD~1"},
	{"branch", "git branch nb; git branch -vv; git branch --contains HEAD~1; git branch -r"},
	{"branch -D", "git branch -D nb"},
	{"branch -m", "git branch nb2; git branch -m nb2 nb3; git branch -d nb3"},
	{"branch with slashes", "git branch agent/x/y; git branch -D agent/x/y"},
	{"switch -c", "git switch -qc other; echo o >o; git add o; git commit -qm other"},
	{"switch back", "git switch -q mine; git switch -q -; git switch -q mine"},
	{"checkout -b", "git checkout -q -b another; git checkout -q mine"},
	{"checkout of a file", "echo x >>file; git checkout -q -- file; git checkout -q HEAD~1 -- file; git checkout -q HEAD -- file"},
	{"checkout --detach", "git checkout -q --detach HEAD~1; git checkout -q mine"},
	{"merge", "git merge -q --no-edit --no-ff other"},
	{"merge --squash", "git switch -qc sq main; git merge -q --squash other; git commit -qm squashed; git switch -q mine"},
	{"merge with conflict, abort", "git switch -qc left main; echo left >file; git commit -qam left; git switch -qc right main; echo right >file; git commit -qam right; git merge left && exit 1; git merge --abort"},
	{"merge with conflict, continue", "git merge left && exit 1; echo both >file; git add file; git merge --continue"},
	{"mergetool's files", "git merge-base left right; git merge-tree --write-tree left right; git merge-file -p file file file"},
	{"rebase", "git switch -qc re main; echo re >re; git add re; git commit -qm re; git rebase -q mine"},
	{"rebase -i by a script", "GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' git rebase -q -i HEAD~1"},
	{"rebase --exec", "git rebase -q --exec 'test -f file' HEAD~2"},
	{"rebase with conflict, abort", "git switch -qc one main; echo 1 >file; git commit -qam 1; git switch -qc two main; echo 2 >file; git commit -qam 2; git rebase one && exit 1; git rebase --abort"},
	{"rebase with conflict, continue", "git rebase one && exit 1; echo solved >file; git add file; git rebase --continue"},
	{"rebase --onto, skip", "git switch -qc skip main; echo skip >file; git commit -qam skip; git rebase one && exit 1; git rebase --skip; git switch -q mine"},
	{"rebase --autostash", "echo dirty >>dir/2; git rebase -q --autostash main || true; git rebase --abort 2>/dev/null || true; git checkout -q -- .; git switch -q mine"},
	{"cherry-pick", "git cherry-pick re"},
	{"cherry-pick with conflict", "git cherry-pick one && exit 1; git cherry-pick --abort"},
	{"revert", "git revert --no-edit HEAD"},
	{"reset --soft", "git reset -q --soft HEAD~1; git commit -qm again"},
	{"reset --mixed", "git reset -q HEAD~1; git add -A; git commit -qm mixed"},
	{"reset --hard", "git reset -q --hard HEAD~1; git reset -q --hard ORIG_HEAD"},
	{"reset --merge, --keep", "git reset -q --keep HEAD~1; git reset -q --merge ORIG_HEAD"},
	{"restore", "echo x >>file; git restore file; echo x >>file; git add file; git restore --staged file; git restore --source=HEAD~1 file; git restore file"},
	{"stash push and pop", "echo z >>file; git stash push -q -m one; git stash list | grep one; git stash show -p; git stash pop -q; git checkout -q -- ."},
	{"stash -u, drop", "echo z >untracked; git stash -q -u; git stash drop -q"},
	{"stash branch", "echo z >>file; git stash -q; git stash branch fromstash; git checkout -q -- .; git switch -q mine; git branch -D fromstash"},
	{"tag", "git tag t1; git tag -a -m x t2; git tag -l; git tag -d t1"},
	{"describe", "git describe --tags --always; git describe --all"},
	{"notes", "git notes add -m n; git notes show; git notes append -m m; git notes remove"},
	{"reflog", "git reflog; git reflog show mine; git log -g --oneline"},
	{"bisect", "git bisect start HEAD main~2; git bisect run true; git bisect log; git bisect reset"},
	{"bisect by hand", "git bisect start; git bisect bad; git bisect good main~2; git bisect skip || true; git bisect reset"},
	{"worktree list", "git worktree list"},
	{"worktree add and remove", "git worktree add -q /tmp/wtx -b wtx; git -C /tmp/wtx commit -q --allow-empty -m wtx; git worktree remove --force /tmp/wtx; git worktree prune; git branch -D wtx"},
	{"submodule status", "git submodule status; git submodule foreach true; git submodule summary"},
	{"sparse-checkout", "git sparse-checkout set dir; test ! -e re; git sparse-checkout list; git sparse-checkout disable; git config --unset core.sparseCheckout || true"},
	{"config", "git config foo.bar 1; git config foo.bar; git config --unset foo.bar; git config --list --show-origin"},
	{"remote", "git remote -v; git remote show -n origin; git remote add two REMOTE; git remote rename two three; git remote remove three"},
	{"fetch", "git fetch -q origin; git fetch -q --all --prune; git fetch -q origin main:refs/heads/fetched"},
	{"ls-remote", "git ls-remote origin"},
	{"push", "git push -q origin HEAD:refs/heads/pushed; git push -q -u origin mine; git push -q --force-with-lease origin mine; git push -q --delete origin pushed"},
	{"pull --rebase", "git pull -q --rebase origin main"},
	{"pull --ff-only", "git pull -q --ff-only origin mine"},
	{"upstream", "git branch -q --set-upstream-to=origin/main; git rev-parse --abbrev-ref @{u}; git switch -qc trk origin/main; git switch -q mine"},
	{"format-patch and am", "git format-patch -q -1 --stdout >/tmp/p.mbox; git reset -q --hard HEAD~1; git am -q /tmp/p.mbox"},
	{"am with conflict", "git format-patch -q -1 --stdout one >/tmp/q.mbox; git am -q /tmp/q.mbox && exit 1; git am --abort"},
	{"apply", "echo a >>file; git diff >/tmp/a.patch; git checkout -q -- file; git apply --check /tmp/a.patch; git apply --index /tmp/a.patch; git commit -qm applied"},
	{"clean", "touch junk; git clean -n; git clean -qfdx; test ! -e junk"},
	{"rm", "git rm -q --cached file; git reset -q; git rm -q dir/2; git commit -qm removed"},
	{"mv", "git mv file moved; git commit -qm moved; git log --follow --oneline moved; git mv moved file; git commit -qm back"},
	{"ls-files", "git ls-files -s; git ls-files -o --exclude-standard; git ls-tree -r HEAD"},
	{"update-index", "git update-index --refresh; git update-index --assume-unchanged file; git update-index --no-assume-unchanged file; git update-index --chmod=+x dir/0; chmod +x dir/0; git commit -qm mode"},
	{"hash-object and cat-file", "git cat-file -p $(echo x | git hash-object -w --stdin); git cat-file --batch-check --batch-all-objects >/dev/null"},
	{"write-tree and commit-tree", "git update-ref refs/heads/plumbing $(git commit-tree -m p -p HEAD $(git write-tree))"},
	{"rev-parse", "git rev-parse HEAD --show-toplevel --git-dir --git-common-dir --abbrev-ref HEAD; git rev-parse --is-inside-work-tree"},
	{"rev-list", "git rev-list --count HEAD; git rev-list --left-right --count main...HEAD"},
	{"for-each-ref", "git for-each-ref --sort=-committerdate; git show-ref; git symbolic-ref HEAD; git name-rev HEAD"},
	{"update-ref", "git update-ref refs/heads/u HEAD; git update-ref -d refs/heads/u"},
	{"archive", "git archive HEAD >/dev/null"},
	{"bundle", "git bundle create -q /tmp/b HEAD main; git bundle verify -q /tmp/b"},
	{"shortlog", "git shortlog -sn HEAD"},
	{"range-diff", "git range-diff main~1..main main~1..main; git cherry main"},
	{"rerere", "git -c rerere.enabled=1 rerere; git rerere status"},
	{"replace", "git replace HEAD HEAD~1; git replace -d HEAD"},
	{"check-ignore, check-attr", "echo ignored >.gitignore; git check-ignore ignored; git check-attr -a file; rm .gitignore"},
	{"clone of itself", "git clone -q . /tmp/clone; git -C /tmp/clone log --oneline -1"},
	{"init", "git init -q /tmp/fresh"},
	{"pack-refs", "git pack-refs --all; git branch -D another"},
	{"repack", "git repack -adq"},
	{"commit-graph", "git commit-graph write --reachable; git commit-graph verify"},
	{"multi-pack-index", "git multi-pack-index write"},
	{"gc", "git gc -q --prune=now; git -c gc.auto=1 -c gc.autoDetach=false gc --auto --quiet"},
	{"prune", "git prune; git prune-packed; git count-objects -v"},
	{"maintenance", "git maintenance run --auto --quiet"},
	{"fsck", "git fsck --no-progress --full"},
	{"verify", "git verify-pack -s $(git rev-parse --git-common-dir)/objects/pack/*.idx"},
}

var refused = regexp.MustCompile(`(?i)read-only|permission denied|unable to|cannot lock`)

// All commands work, in a worktree and in the main checkout, and change nothing of the
// user's repository. Then what they made arrives, and nothing else has moved.
func TestCommands(t *testing.T) {
	if len(commands) < 60 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, c := range []struct {
		name  string
		flags []string
		main  bool
	}{{"worktree", nil, false}, {"sha256", []string{"--object-format=sha256"}, false}, {"main checkout", nil, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x, state := newWorld(t, c.flags...), "/worktrees/tree"
			if c.main {
				x, state = x.inMainCheckout(), ""
			}
			x.prepare(false)
			before, refs := x.files(), x.refs()
			for _, c := range commands {
				out, err := x.try(strings.ReplaceAll(c.script, "REMOTE", x.remote))
				if err != nil || refused.MatchString(out) {
					t.Errorf("%s: %v\n%s", c.name, err, out)
				}
			}
			if got := changed(before, x.files(), func(string) bool { return false }); got != nil {
				t.Errorf("the session changed %q", got)
			}
			tip := x.run("git rev-parse mine; git switch -q mine; git status --porcelain")
			out := x.bring()
			if out.After != tip || out.Conflict || !out.Complete() || out.IndexKept != "" {
				t.Errorf("%+v, want %s", out, tip)
			}
			if status := x.host("status", "--porcelain"); status != "" {
				t.Errorf("status outside: %s", status)
			}
			if got := strings.ReplaceAll(x.refs(), out.After, out.Before); got != refs {
				t.Errorf("other refs moved:\n%s\n%s", refs, got)
			}
			own := func(name string) bool {
				return strings.Contains(name, "/objects/") || strings.Contains(name, "/refs/middleman/") || strings.HasSuffix(name, "/refs/heads/"+ownBranch) ||
					strings.HasSuffix(name, ".git"+state+"/index") || strings.HasSuffix(name, ".git"+state+"/logs/HEAD")
			}
			if got := changed(before, x.files(), own); got != nil {
				t.Errorf("the import changed %q", got)
			}
			x.host("fsck", "--no-progress")
		})
	}
}
