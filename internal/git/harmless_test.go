//go:build unix

package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
)

// Git in a checkout is harmless until something in reach of others makes it run a
// program, or leads it elsewhere.
func TestHarmless(t *testing.T) {
	for _, x := range []struct {
		name  string
		spoil func(r *testenv.Repo, tree, entry string)
		want  string // "" for harmless
	}{
		{"nothing", func(*testenv.Repo, string, string) {}, ""},
		{"a remote and a branch", func(r *testenv.Repo, _, _ string) { r.Git("config", "branch.main.merge", "refs/heads/main") }, ""},
		{"a sample of a hook", func(r *testenv.Repo, _, _ string) { r.Write(".git/hooks/pre-commit.sample", "x") }, ""},
		{"a hook", func(r *testenv.Repo, _, _ string) { r.Write(".git/hooks/pre-commit", "x") }, "hook pre-commit"},
		{"fsmonitor", func(r *testenv.Repo, _, _ string) { r.Git("config", "core.fsmonitor", "./x") }, "may run a program"},
		{"another directory of hooks", func(r *testenv.Repo, _, _ string) { r.Git("config", "core.hooksPath", ".husky") }, "may run a program"},
		{"a filter", func(r *testenv.Repo, _, _ string) { r.Git("config", "filter.x.clean", "./x") }, "may run a program"},
		{"an include", func(r *testenv.Repo, _, _ string) { r.Git("config", "include.path", "../x") }, "may run a program"},
		{"a partial clone", func(r *testenv.Repo, _, _ string) { r.Git("config", "remote.origin.promisor", "true") }, "partial clone"},
		{"settings of the worktree", func(r *testenv.Repo, _, entry string) {
			r.Git("config", "extensions.worktreeConfig", "true")
			write(r, filepath.Join(entry, "config.worktree"), "[core]\n\tpager = ./x\n")
		}, "may run a program"},
		{"the user's hooks", func(r *testenv.Repo, _, _ string) {
			write(r, filepath.Join(r.Home, ".gitconfig"), "[core]\n\thooksPath = .husky\n")
		}, "your own settings of git name hooks"},
		{"a submodule", func(r *testenv.Repo, tree, _ string) { embed(r, tree, "core.worktree", tree+"/sub") }, ""},
		{"a submodule with fsmonitor", func(r *testenv.Repo, tree, _ string) { embed(r, tree, "core.fsmonitor", "./x") }, "submodule sub: the repository's own configuration has settings that may run a program"},
		{"a submodule with a hook", func(r *testenv.Repo, tree, _ string) {
			embed(r, tree, "user.name", "x")
			os.MkdirAll(filepath.Join(tree, "sub", ".git", "hooks"), 0o700)
			write(r, filepath.Join(tree, "sub", ".git", "hooks", "post-index-change"), "x")
		}, "submodule sub: the repository has the hook post-index-change"},
		{"a submodule that is not checked out", func(r *testenv.Repo, tree, _ string) {
			embed(r, tree, "core.fsmonitor", "./x")
			os.RemoveAll(filepath.Join(tree, "sub", ".git"))
		}, ""},
		{"a submodule of a submodule", func(r *testenv.Repo, tree, _ string) {
			embed(r, tree, "user.name", "x")
			embed(r, filepath.Join(tree, "sub"), "core.fsmonitor", "./x")
		}, "submodule sub: submodule sub: the repository"},
		{"a .git that leads elsewhere", func(r *testenv.Repo, tree, _ string) { write(r, filepath.Join(tree, ".git"), "gitdir: "+r.Home+"\n") }, "does not lead"},
		{"a .git that is a link", func(r *testenv.Repo, tree, _ string) {
			os.Remove(filepath.Join(tree, ".git"))
			os.Symlink(filepath.Join(r.Dir, ".git"), filepath.Join(tree, ".git"))
		}, "does not lead"},
		{"a .git that is a repository", func(r *testenv.Repo, tree, _ string) {
			os.Remove(filepath.Join(tree, ".git"))
			os.Mkdir(filepath.Join(tree, ".git"), 0o700)
		}, "does not lead"},
		{"no .git", func(_ *testenv.Repo, tree, _ string) { os.Remove(filepath.Join(tree, ".git")) }, "no such file"},
		{"an entry that leads elsewhere", func(r *testenv.Repo, _, entry string) { write(r, filepath.Join(entry, "commondir"), r.Home+"\n") }, "does not lead"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := testenv.NewRepo(t)
			testenv.UseGitEnv(t, r.Home)
			tree := filepath.Join(filepath.Dir(r.Dir), "tree")
			r.Git("worktree", "add", "-q", tree)
			common := filepath.Join(r.Dir, ".git")
			x.spoil(r, tree, filepath.Join(common, "worktrees", "tree"))
			var v git.Views
			err := v.Harmless(t.Context(), common, tree)
			if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
	r := testenv.NewRepo(t)
	var v git.Views
	if err := v.Harmless(t.Context(), filepath.Join(r.Dir, ".git"), r.Dir); err != nil {
		t.Errorf("the main checkout: %v", err)
	}
}

// embed makes a repository with a setting in the checkout at tree, as a submodule.
func embed(r *testenv.Repo, tree, key, value string) {
	sub := filepath.Join(tree, "sub")
	r.Git("init", "-q", sub)
	r.Git("-C", sub, "commit", "-q", "--allow-empty", "-m", "x")
	r.Git("-C", tree, "add", "sub")
	r.Git("-C", sub, "config", key, value)
}

func write(r *testenv.Repo, path, content string) {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		panic(err)
	}
}
