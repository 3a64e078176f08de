package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"middleman/workspace"
)

// withModule is a workspace with the submodule mod checked out. The remote of that has a
// tag that none of its branches reaches.
func withModule(t *testing.T) (m *workspace.Manager, w workspace.Workspace, sub, remote string) {
	t.Helper()
	remote = newRepo(t)
	commit(t, remote, "dead.txt", "1\n")
	runGit(t, remote, "tag", "dead")
	runGit(t, remote, "reset", "-q", "--hard", "HEAD^")
	repo := newRepo(t)
	runGit(t, repo, "submodule", "--quiet", "add", remote, "mod")
	runGit(t, repo, "commit", "-q", "-m", "Add a module")
	m, _ = newManager(t)
	w = create(t, m, request(repo, "w1"))
	runGit(t, w.Root, "submodule", "--quiet", "update", "--init")
	return m, w, filepath.Join(w.Root, "mod"), remote
}

// away commits in the submodule, lets hold name the commit, and returns to where the
// submodule was.
func away(t *testing.T, sub string, hold ...string) string {
	t.Helper()
	commit(t, sub, "c.txt", "day of work\n")
	made := runGit(t, sub, "rev-parse", "HEAD")
	if len(hold) > 0 {
		runGit(t, sub, hold...)
	}
	runGit(t, sub, "reset", "-q", "--hard", "HEAD^")
	return made
}

// forget removes what the reflogs of the submodule hold. Then it shows no more which
// tags came with the clone, so that these are kept as well.
func forget(t *testing.T, sub string) {
	t.Helper()
	runGit(t, sub, "reflog", "expire", "--expire=all", "--all")
}

// What only tags, notes, other refs or reflogs of a submodule hold does not stop a
// delete. It is told, kept, and comes back.
func TestSubmoduleKeepsWhatGoesWithIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, sub string) (commit string)
		says string
	}{
		{"reflog", func(t *testing.T, sub string) string { return away(t, sub) }, "mod: %h Change c.txt"},
		{"tag", func(t *testing.T, sub string) string {
			defer forget(t, sub)
			return away(t, sub, "tag", "v-work")
		}, "mod: %h Change c.txt (tag: v-work)"},
		{"tag that is packed", func(t *testing.T, sub string) string {
			defer runGit(t, sub, "pack-refs", "--all")
			defer forget(t, sub)
			return away(t, sub, "tag", "-a", "-m", "Mine", "v-work")
		}, "mod: %h Change c.txt (tag: v-work)"},
		{"text of a tag", func(t *testing.T, sub string) string {
			runGit(t, sub, "tag", "-a", "-m", "What I found", "v-text")
			return runGit(t, sub, "rev-parse", "v-text")
		}, "mod: tag refs/tags/v-text: What I found"},
		{"tag of a file", func(t *testing.T, sub string) string {
			write(t, sub+"/key.pub", "a key\n")
			defer os.Remove(sub + "/key.pub")
			runGit(t, sub, "tag", "key", runGit(t, sub, "hash-object", "-w", "key.pub"))
			return runGit(t, sub, "rev-parse", "key")
		}, "mod: blob refs/tags/key"},
		{"notes", func(t *testing.T, sub string) string {
			runGit(t, sub, "notes", "add", "-m", "what I found")
			return runGit(t, sub, "rev-parse", "refs/notes/commits")
		}, "mod: %h Notes added by 'git notes add' (refs/notes/commits)"},
		{"ref of another kind", func(t *testing.T, sub string) string {
			defer forget(t, sub)
			return away(t, sub, "update-ref", "refs/saved/one", "HEAD")
		}, "mod: %h Change c.txt (refs/saved/one)"},
		{"not checked out", func(t *testing.T, sub string) string {
			defer runGit(t, filepath.Dir(sub), "submodule", "deinit", "-q", "-f", "mod")
			return away(t, sub)
		}, "mod: %h Change c.txt"},
		{"amended in a submodule of the submodule", func(t *testing.T, sub string) string {
			runGit(t, sub, "submodule", "--quiet", "add", newRepo(t), "inner")
			made := away(t, filepath.Join(sub, "inner"))
			runGit(t, sub, "rm", "-q", "--cached", "inner", ".gitmodules")
			os.RemoveAll(filepath.Join(sub, "inner"))
			os.Remove(filepath.Join(sub, ".gitmodules"))
			return made
		}, "inner: %h Change c.txt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, w, sub, _ := withModule(t)
			made := tc.do(t, sub)
			want := strings.ReplaceAll(tc.says, "%h", made[:7])
			loss, err := m.Inspect(context.Background(), w)
			if err != nil || !loss.Empty() || !loss.Restorable || !slices.Contains(loss.Abandoned, want) {
				t.Errorf("%+v, %v, want %q", loss, err, want)
			}
			if loss, err = m.Delete(context.Background(), w, false, nil); err != nil || !loss.Restorable {
				t.Fatalf("delete: %+v, %v", loss, err)
			}
			if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(w.GitDir, "worktrees", w.ID, "modules", "mod")
			if strings.HasPrefix(tc.says, "inner") {
				dir = filepath.Join(dir, "modules", "inner")
			}
			runGit(t, dir, "--git-dir=.", "--work-tree=.", "cat-file", "-e", made)
		})
	}
}

// Ordinary submodules are deleted, and no snapshot is made of them.
func TestSubmoduleWithoutWork(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace, sub, remote string)
	}{
		{"just initialised", func(*testing.T, workspace.Workspace, string, string) {}},
		{"at a tag of the remote", func(t *testing.T, w workspace.Workspace, sub, _ string) {
			runGit(t, sub, "checkout", "-q", "dead")
			runGit(t, w.Root, "commit", "-q", "-a", "-m", "Pin it")
			runGit(t, w.Root, "branch", "pinned")
		}},
		{"shallow, behind its remote", func(t *testing.T, w workspace.Workspace, _, remote string) {
			runGit(t, remote, "config", "uploadpack.allowAnySHA1InWant", "true")
			commit(t, remote, "later.txt", "1\n")
			runGit(t, w.Root, "submodule", "deinit", "-q", "-f", "mod")
			os.RemoveAll(filepath.Join(w.GitDir, "worktrees", w.ID, "modules"))
			runGit(t, w.Root, "config", "submodule.mod.url", "file://"+remote)
			runGit(t, w.Root, "submodule", "--quiet", "update", "--init", "--depth", "1")
		}},
		{"not initialised", func(t *testing.T, w workspace.Workspace, sub, _ string) {
			runGit(t, w.Root, "submodule", "deinit", "-q", "-f", "mod")
			os.RemoveAll(filepath.Join(w.GitDir, "worktrees", w.ID, "modules"))
		}},
		{"fetched", func(t *testing.T, _ workspace.Workspace, sub, remote string) {
			commit(t, remote, "later.txt", "1\n")
			runGit(t, remote, "tag", "-a", "-m", "Release", "v2")
			runGit(t, remote, "branch", "feature")
			runGit(t, sub, "fetch", "-q")
		}},
		{"updated after a pull", func(t *testing.T, w workspace.Workspace, sub, remote string) {
			commit(t, remote, "later.txt", "1\n")
			runGit(t, remote, "tag", "v2")
			theirs := filepath.Join(w.Repository, "mod")
			runGit(t, theirs, "pull", "-q", "origin", "main")
			runGit(t, w.Repository, "commit", "-q", "-a", "-m", "Update the module")
			runGit(t, w.Root, "merge", "-q", "--ff-only", "main")
			runGit(t, w.Root, "submodule", "--quiet", "update")
		}},
		{"a branch that the remote has", func(t *testing.T, _ workspace.Workspace, sub, _ string) {
			runGit(t, sub, "checkout", "-q", "-b", "work")
			commit(t, sub, "c.txt", "1\n")
			runGit(t, sub, "push", "-q", "origin", "work")
			runGit(t, sub, "tag", "pushed")
			runGit(t, sub, "checkout", "-q", "main")
		}},
		{"cloned as a second begins", func(t *testing.T, _ workspace.Workspace, sub, _ string) {
			packed, second := clonedAs(t, sub)
			writtenAt(t, packed, second.Add(time.Second+9*time.Millisecond))
		}},
		{"a worktree of it that is gone", func(t *testing.T, _ workspace.Workspace, sub, _ string) {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			runGit(t, sub, "worktree", "add", "-q", "--detach", elsewhere)
			os.RemoveAll(elsewhere)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, w, sub, remote := withModule(t)
			tc.do(t, w, sub, remote)
			if loss, err := m.Inspect(context.Background(), w); err != nil || !reflect.DeepEqual(loss, workspace.Loss{}) {
				t.Errorf("%+v, %v", loss, err)
			}
			if loss, err := m.Delete(context.Background(), w, false, nil); err != nil || loss.Restorable {
				t.Errorf("delete: %+v, %v", loss, err)
			}
		})
	}
}

// clonedAs returns the packed-refs of a submodule, and the second of its clone as its
// reflog has it.
func clonedAs(t *testing.T, sub string) (packed string, second time.Time) {
	t.Helper()
	log := strings.Split(runGit(t, sub, "reflog", "show", "--date=unix", "--format=%gd"), "\n")
	number := strings.Trim(strings.TrimPrefix(log[len(log)-1], "HEAD@"), "{}")
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(runGit(t, sub, "rev-parse", "--absolute-git-dir"), "packed-refs"), time.Unix(at, 0)
}

// writtenAt dates packed-refs, and the HEAD of the remote, which a clone writes after it.
func writtenAt(t *testing.T, packed string, at time.Time) {
	t.Helper()
	for _, path := range []string{packed, filepath.Join(filepath.Dir(packed), "refs", "remotes", "origin", "HEAD")} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// Tags in a packed-refs that was written after the clone may be the user's.
func TestSubmodulePackedLater(t *testing.T) {
	t.Parallel()
	m, w, sub, _ := withModule(t)
	packed, second := clonedAs(t, sub)
	writtenAt(t, packed, second.Add(time.Second+11*time.Millisecond))
	if loss, err := m.Inspect(context.Background(), w); err != nil || len(loss.Abandoned) != 1 {
		t.Errorf("%+v, %v", loss, err)
	}
}

// A worktree elsewhere of a submodule needs the repository that goes with the workspace.
// A delete is refused and names it. With consent a restore makes it work again.
func TestSubmoduleWithWorktreeElsewhere(t *testing.T) {
	t.Parallel()
	m, w, sub, _ := withModule(t)
	ctx := context.Background()
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere = filepath.Join(elsewhere, "x")
	runGit(t, sub, "worktree", "add", "-q", "--detach", elsewhere)
	commit(t, elsewhere, "c.txt", "1\n")
	write(t, elsewhere+"/new", "x")
	before := runGit(t, elsewhere, "status", "--porcelain=v2", "--branch")
	_, err = m.Delete(ctx, w, false, nil)
	refused, ok := errors.AsType[*workspace.WorkError](err)
	want := []string{elsewhere + " (a worktree of submodule mod, which it needs: `git worktree remove` it first)"}
	if !ok || !reflect.DeepEqual(refused.Loss.Untracked, want) || len(refused.Loss.Abandoned) != 1 {
		t.Fatalf("delete: %v, %+v", err, refused)
	}
	if _, err := m.Delete(ctx, w, true, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Restore(ctx, w, nil); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, elsewhere, "status", "--porcelain=v2", "--branch"); got != before {
		t.Errorf("restored: %s, want %s", got, before)
	}
	runGit(t, sub, "worktree", "remove", "--force", elsewhere)
	if loss, err := m.Inspect(ctx, w); err != nil || !loss.Empty() {
		t.Errorf("without it: %+v, %v", loss, err)
	}
}

// The reflog of the branch is kept as well if only the branch is left.
func TestDeleteKeepsReflogOfBranch(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	made := away(t, w.Root)
	runGit(t, w.Repository, "worktree", "unlock", w.Root)
	runGit(t, w.Repository, "worktree", "remove", w.Root)
	loss, err := m.Delete(context.Background(), w, false, nil)
	if err != nil || len(loss.Abandoned) != 1 || !loss.Restorable {
		t.Fatalf("%+v, %v", loss, err)
	}
	runGit(t, w.Repository, "merge-base", "--is-ancestor", made, "refs/middleman/trash/w1")
}

// A ref of the worktree may name what is no commit. It is kept as well.
func TestDeleteKeepsFileOfAWorktreeRef(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.Root+"/key", "a key\n")
	key := runGit(t, w.Root, "hash-object", "-w", "key")
	os.Remove(w.Root + "/key")
	runGit(t, w.Root, "update-ref", "refs/worktree/key", key)
	loss, err := m.Delete(context.Background(), w, false, nil)
	if want := []string{"blob refs/worktree/key"}; err != nil || !slices.Equal(loss.Abandoned, want) || !loss.Restorable {
		t.Fatalf("%+v, %v", loss, err)
	}
	runGit(t, w.Repository, "-c", "gc.pruneExpire=now", "gc", "-q")
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, w.Root, "cat-file", "blob", "refs/worktree/key"); got != "a key" {
		t.Errorf("restored: %q", got)
	}
}

// A submodule that lacks the commit of a branch is not clean, whatever tags came with it.
func TestSubmoduleWithoutAnObject(t *testing.T) {
	t.Parallel()
	m, w, sub, _ := withModule(t)
	made := away(t, sub, "branch", "work")
	object := filepath.Join(w.GitDir, "worktrees", w.ID, "modules", "mod", "objects", made[:2], made[2:])
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	if loss, err := m.Inspect(context.Background(), w); err == nil {
		t.Errorf("%+v, %v", loss, err)
	}
	if _, err := m.Delete(context.Background(), w, false, nil); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("delete: %v", err)
	}
}
