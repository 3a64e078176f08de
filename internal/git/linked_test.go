//go:build unix

package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
)

// Links are told of where tracked files were below a directory, and nowhere else. `git
// grep` reads what is behind them.
func TestLinked(t *testing.T) {
	r := testenv.NewRepo(t)
	testenv.UseGitEnv(t, r.Home)
	for _, name := range []string{"was/deep/passwd", "stays/x", "below/was/y"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.Dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		r.Write(name, "x")
	}
	r.Git("add", ".")
	if err := os.Symlink("/etc", filepath.Join(r.Dir, "stays", "untracked")); err != nil {
		t.Fatal(err)
	}
	find := func(want ...string) {
		t.Helper()
		links, err := git.Linked(t.Context(), filepath.Join(r.Dir, ".git"), r.Dir)
		for i := range want {
			want[i] = filepath.Join(r.Dir, want[i])
		}
		if err != nil || !slices.Equal(links, want) {
			t.Errorf("%q, %v, want %q", links, err, want)
		}
	}
	find()
	for name, target := range map[string]string{"was/deep": "/etc", "below/was": "../stays"} {
		path := filepath.Join(r.Dir, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	find("below/was", "was/deep")
	embed(r, r.Dir, "submodule.recurse", "true")
	find("below/was", "was/deep")
}
