package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"middleman/workspace"
)

// A worktree elsewhere of a repository in the workspace needs that repository. A delete is
// refused and names it. With consent a restore makes it work again.
func TestNestedRepositoryWithWorktreeElsewhere(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		mode workspace.Mode
		make func(t *testing.T, root string) (lender string) // its path in the workspace
		of   string
	}{
		{"untracked", workspace.ModeWorktree, func(t *testing.T, root string) string {
			runGit(t, root, "clone", "-q", newRepo(t), "nest")
			return "nest"
		}, "nest"},
		{"ignored", workspace.ModeWorktree, func(t *testing.T, root string) string {
			write(t, root+"/.gitignore", "vendor/\n")
			runGit(t, root, "clone", "-q", newRepo(t), "vendor/deep/nest")
			return "vendor/deep/nest"
		}, "vendor/deep/nest"},
		{"ignored and bare", workspace.ModeWorktree, func(t *testing.T, root string) string {
			write(t, root+"/.gitignore", "*.git/\n")
			runGit(t, root, "clone", "-q", "--bare", newRepo(t), "nest.git")
			return "nest.git"
		}, "nest.git"},
		{"a submodule of it", workspace.ModeWorktree, func(t *testing.T, root string) string {
			runGit(t, root, "clone", "-q", newRepo(t), "nest")
			runGit(t, root+"/nest", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", newRepo(t), "mod")
			return "nest/mod"
		}, "nest"},
		{"in a directory", workspace.ModeDirectory, func(t *testing.T, root string) string {
			runGit(t, root, "clone", "-q", newRepo(t), "nest")
			return "nest"
		}, "nest"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			m, _ := newManager(t)
			r := request(newRepo(t), "w1")
			if r.Mode = x.mode; x.mode == workspace.ModeDirectory {
				r.Directory = ""
			}
			w := create(t, m, r)
			elsewhere, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			elsewhere = filepath.Join(elsewhere, "x")
			lender := filepath.Join(w.Root, x.make(t, w.Root))
			runGit(t, lender, "worktree", "add", "-q", "--detach", filepath.Join(w.Root, "inside"))
			runGit(t, lender, "worktree", "add", "-q", "--detach", elsewhere)
			write(t, elsewhere+"/new", "x")
			before := runGit(t, elsewhere, "status", "--porcelain=v2", "--branch")
			want := elsewhere + " (a worktree of repository " + x.of + ", which it needs: `git worktree remove` it first)"
			named := func(what string, loss workspace.Loss) {
				t.Helper()
				if n := len(slices.DeleteFunc(slices.Clone(loss.Untracked), func(s string) bool { return s != want })); n != 1 {
					t.Errorf("%s: %q has it %d times, want %q", what, loss.Untracked, n, want)
				}
			}
			_, err = m.Delete(ctx, w, false, nil)
			refused, ok := errors.AsType[*workspace.WorkError](err)
			if !ok {
				t.Fatalf("delete: %v", err)
			}
			named("refused", refused.Loss)
			loss, err := m.DeleteInspected(ctx, w, true, nil) // it looks when the directory has moved
			if err != nil {
				t.Fatal(err)
			}
			named("deleted", loss)
			if _, _, err := m.Restore(ctx, w, nil); err != nil {
				t.Fatal(err)
			}
			if got := runGit(t, elsewhere, "status", "--porcelain=v2", "--branch"); got != before {
				t.Errorf("restored: %s, want %s", got, before)
			}
		})
	}
}
