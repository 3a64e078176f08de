package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	write(t, filepath.Join(repo, ".git/info/keep"), "x")
	other := create(t, m, request(repo, "w0"))
	before := state(t, repo, base)
	w := create(t, m, request(repo, "w1"))
	runGit(t, repo, "config", "branch."+w.Branch+".remote", "origin")
	var stages []string
	loss, err := m.Delete(context.Background(), w, false, func(s workspace.Stage) {
		stages = append(stages, s.Name+" "+s.State)
	})
	if err != nil || !loss.Empty() {
		t.Fatalf("%+v, %v", loss, err)
	}
	want := []string{"look running", "look done", "move running", "move done", "forget running", "forget done",
		"remove running", "remove done", "branch running", "branch done"}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
	if got := runGit(t, other.Root, "status", "--porcelain"); got != "" {
		t.Errorf("the other worktree: %s", got)
	}
	if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func TestDeleteKeepsBranch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
	}{
		{"that was there before", func(t *testing.T, w workspace.Workspace) { commit(t, w.Root, "c.txt", "3\n") }},
		{"that is checked out elsewhere", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
			runGit(t, w.Repository, "checkout", "-q", w.Branch)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := newManager(t)
			r := request(newRepo(t), "w1")
			if strings.Contains(tc.name, "before") {
				r.Branch = "middleman/login"
				runGit(t, r.Directory, "branch", r.Branch)
			}
			w := create(t, m, r)
			tc.do(t, w)
			tip := runGit(t, w.Repository, "rev-parse", w.Branch)
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Fatal(err)
			}
			if got := runGit(t, w.Repository, "rev-parse", w.Branch); got != tip {
				t.Errorf("branch at %s, was %s", got, tip)
			}
		})
	}
}

// A branch that moves between the look and its deletion stays: it is deleted
// by compare-and-swap.
func TestDeleteBranchThatMoves(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	var details []string
	_, err := m.Delete(context.Background(), w, false, func(s workspace.Stage) {
		if s.Name == "branch" && s.State == "running" {
			runGit(t, w.Repository, "checkout", "-q", w.Branch)
			commit(t, w.Repository, "late", "x\n")
		}
		details = append(details, s.Detail)
	})
	if err != nil {
		t.Fatal(err)
	}
	runGit(t, w.Repository, "rev-parse", "--verify", "refs/heads/"+w.Branch)
	if !strings.Contains(strings.Join(details, ""), "kept") {
		t.Errorf("stages do not say that it was kept: %q", details)
	}
}

// Work that appears after the first look is seen by the second, and the
// directory is back in its place.
func TestDeleteLooksTwice(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	_, err := m.Delete(context.Background(), w, false, func(s workspace.Stage) {
		if s.Name == "move" && s.State == "running" {
			write(t, filepath.Join(w.Root, "late"), "x")
		}
	})
	if refused, ok := errors.AsType[*workspace.WorkError](err); !ok || !slices.Equal(refused.Loss.Untracked, []string{"late"}) {
		t.Fatalf("error %v", err)
	}
	if got := runGit(t, w.Root, "status", "--porcelain"); got != "?? late" {
		t.Errorf("status %s", got)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 {
		t.Errorf("base holds %v, %v", entries, err)
	}
}

// Of two workspaces that alone have a commit, one stays when both are deleted at once.
func TestDeleteAtOnce(t *testing.T) {
	m, _ := newManager(t)
	t.Run("one server", func(t *testing.T) { deleteAtOnce(t, m, m) })
	if runtime.GOOS != "windows" { // it has no locks of directories
		t.Run("two servers", func(t *testing.T) {
			other, _ := newManager(t)
			deleteAtOnce(t, m, other)
		})
	}
}

// deleteAtOnce deletes, with one manager each, two workspaces of one repository, which
// have the same commit.
func deleteAtOnce(t *testing.T, one, two *workspace.Manager) {
	t.Helper()
	repo := newRepo(t)
	managers := []*workspace.Manager{one, two}
	for n := range 10 {
		a := create(t, one, request(repo, fmt.Sprintf("a%d", n)))
		b := create(t, two, request(repo, fmt.Sprintf("b%d", n)))
		commit(t, a.Root, "work", fmt.Sprint(n))
		work := runGit(t, a.Root, "rev-parse", "HEAD")
		runGit(t, b.Root, "reset", "-q", "--hard", work)
		var both sync.WaitGroup
		var deleted atomic.Int32
		for i, w := range []workspace.Workspace{a, b} {
			both.Go(func() {
				_, err := managers[i].DeleteInspected(t.Context(), w, false, nil)
				if _, refused := errors.AsType[*workspace.WorkError](err); err != nil && !refused {
					t.Error(err)
				}
				if err == nil {
					deleted.Add(1)
				}
			})
		}
		both.Wait()
		if refs := runGit(t, repo, "for-each-ref", "--contains", work); deleted.Load() != 1 || refs == "" {
			t.Fatalf("%d were deleted, and %s is in %q", deleted.Load(), work, refs)
		}
	}
}

func TestDeleteVanishedDirectory(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want workspace.Loss
	}{
		{"nothing unsaved", func(*testing.T, workspace.Workspace) {}, workspace.Loss{}},
		{"commits", func(t *testing.T, w workspace.Workspace) { commit(t, w.Root, "c.txt", "3\n") },
			workspace.Loss{Commits: []string{w0}}},
		{"commits on a detached HEAD", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "branch", "-f", "shadow")
			runGit(t, w.Root, "branch", "-D", "-q", "shadow")
		}, workspace.Loss{Commits: []string{"HEAD"}}},
		{"staged files", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/new", "1\n")
			runGit(t, w.Root, "add", "new")
		}, workspace.Loss{Changed: []string{"new"}}},
		{"entry pruned too", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Repository, "worktree", "remove", "-f", "-f", w.Root)
		}, workspace.Loss{}},
		{"entry pruned too, with commits", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Repository, "worktree", "remove", "-f", "-f", w.Root)
			runGit(t, w.Repository, "worktree", "add", "-q", "--detach", w.Root, w.Branch) // for the comparison
			runGit(t, w.Repository, "worktree", "remove", w.Root)
		}, workspace.Loss{Commits: []string{w0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			ctx := context.Background()
			w := create(t, m, request(newRepo(t), "w1"))
			tc.do(t, w)
			want := tc.want
			for i, revision := range want.Commits {
				dir := w.Root
				if revision == w0 {
					dir = w.Repository
				}
				want.Commits[i] = runGit(t, dir, "show", "-s", "--format=%h %s", revision)
			}
			if err := os.RemoveAll(w.Root); err != nil {
				t.Fatal(err)
			}
			loss, err := m.Inspect(ctx, w)
			if !errors.Is(err, workspace.ErrMissing) || loss.Summary() != want.Summary() {
				t.Errorf("Inspect: %+v, %v", loss, err)
			}
			_, err = m.Delete(ctx, w, false, nil)
			if refused, ok := errors.AsType[*workspace.WorkError](err); ok != !want.Empty() {
				t.Fatalf("Delete: %v", err)
			} else if ok {
				if !slices.Equal(refused.Loss.Commits, want.Commits) || !slices.Equal(refused.Loss.Changed, want.Changed) {
					t.Errorf("Delete would lose %+v, want %+v", refused.Loss, want)
				}
				if _, err := m.Delete(ctx, w, true, nil); err != nil {
					t.Fatal(err)
				}
				dropSnapshot(t, w.Repository, w.ID)
			} else if entry := exists(w.GitDir + "/worktrees/w1"); entry != errors.Is(err, workspace.ErrUnknown) || !entry && err != nil {
				t.Fatalf("without consent to forget what was in it: %v", err)
			} else if _, err := m.Delete(ctx, w, true, nil); err != nil {
				t.Fatal(err)
			}
			if got := state(t, w.Repository, base); strings.Contains(got, "w1") || strings.Contains(runGit(t, w.Repository, "branch"), "middleman") {
				t.Errorf("left behind:\n%s", got)
			}
		})
	}
}

// A delete that was cut short at any stage is finished by the next.
func TestDeleteInterrupted(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"look", "move", "forget", "remove", "branch"} {
		t.Run(at, func(t *testing.T) {
			repo := newRepo(t)
			m, base := newManager(t)
			before := state(t, repo, base)
			w := create(t, m, request(repo, "w1"))
			func() {
				defer func() { _ = recover() }()
				_, _ = m.Delete(context.Background(), w, false, func(s workspace.Stage) {
					if s.Name == at && s.State == "running" {
						panic("cut short")
					}
				})
			}()
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Fatal(err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Between the move and its second look, a directory of that name with work is
// looked at, not thrown away.
func TestDeleteAfterMove(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, filepath.Join(w.Root, "precious"), "x")
	if err := os.Rename(w.Root, filepath.Join(filepath.Dir(w.Root), ".deleting-w1")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(context.Background(), w, false, nil); err == nil || !strings.Contains(err.Error(), "1 untracked file") {
		t.Errorf("Delete: %v", err)
	}
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Error(err)
	}
}

// A worktree that the user moved elsewhere is the user's by then, and a delete
// says that it stays.
func TestDeleteMovedWorktree(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	ctx := context.Background()
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, filepath.Join(w.Root, "precious"), "x")
	elsewhere := filepath.Join(filepath.Dir(w.Repository), "elsewhere")
	runGit(t, w.Repository, "worktree", "move", "-f", "-f", w.Root, elsewhere)
	want := []string{"the worktree was moved to " + elsewhere + ": it stays there", "branch middleman/fix stays"}
	if loss, err := m.Inspect(ctx, w); !errors.Is(err, workspace.ErrMissing) || !slices.Equal(loss.Warnings, want) {
		t.Errorf("Inspect: %+v, %v", loss, err)
	}
	if loss, err := m.Delete(ctx, w, false, nil); err != nil || !slices.Equal(loss.Warnings, want) {
		t.Errorf("Delete: %+v, %v", loss, err)
	}
	if got := runGit(t, elsewhere, "status", "--porcelain", "--branch"); got != "## middleman/fix\n?? precious" {
		t.Errorf("status %s", got)
	}
}

func TestDeleteRepositoryGone(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	if err := os.RemoveAll(w.Repository); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(context.Background(), w, false, nil); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("without consent: %v", err)
	}
	loss, err := m.Delete(context.Background(), w, true, nil)
	if err != nil || !loss.Restorable {
		t.Errorf("with consent: %+v, %v", loss, err)
	}
	// No repository can hold a snapshot: the directory itself is kept.
	if left := namesIn(base) + ": " + namesIn(base+"/repo"); left != "repo: .kept-w1" {
		t.Errorf("left behind: %s", left)
	}
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(w.Root); len(entries) != 3 {
		t.Errorf("restored: %v", entries)
	}
}

// A delete of what an earlier one kept aside keeps the branch too: git's entry is
// gone, so no snapshot has it.
func TestDeleteAgainKeepsTheBranch(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	commit(t, w.Root, "committed", "x")
	tip := runGit(t, w.Repository, "rev-parse", w.Branch)
	if err := os.RemoveAll(filepath.Join(w.GitDir, "worktrees", w.ID)); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"first", "second"} {
		loss, err := m.Delete(t.Context(), w, true, nil)
		if err != nil || !loss.Restorable {
			t.Fatalf("%s delete: %+v, %v", when, loss, err)
		}
		if got := runGit(t, w.Repository, "for-each-ref", "--format=%(objectname)", "refs/heads/"+w.Branch); got != tip {
			t.Errorf("%s delete: the branch is at %q, want %s", when, got, tip)
		}
	}
}

func TestDeleteCancelled(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, discard := range []bool{false, true} {
		if _, err := m.Delete(ctx, w, discard, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("discard %v: %v", discard, err)
		}
	}
	if got := runGit(t, w.Root, "status", "--porcelain"); got != "" {
		t.Errorf("status %s", got)
	}
}

// Creations and deletions of one name at once: each ends whole or not at all.
func TestCreateAgainstDelete(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	before := state(t, repo, base)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 3 {
				w, err := m.Create(context.Background(), request(repo, "w"+string(rune('a'+i))), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, sub string)
		want []string // parts of the refusal's list; none: it deletes
	}{
		{"clean", func(*testing.T, string) {}, nil},
		{"changed", func(t *testing.T, sub string) { write(t, sub+"/a.txt", "1\n") }, []string{"mod/a.txt"}},
		{"untracked", func(t *testing.T, sub string) { write(t, sub+"/new", "1\n") }, []string{"mod/new"}},
		{"commit", func(t *testing.T, sub string) { commit(t, sub, "c.txt", "1\n") }, []string{"mod", "Change c.txt"}},
		{"commit, then not checked out", func(t *testing.T, sub string) {
			commit(t, sub, "c.txt", "1\n")
			runGit(t, filepath.Dir(sub), "submodule", "deinit", "-q", "-f", "mod")
		}, []string{"Change c.txt"}},
		{"stash", func(t *testing.T, sub string) {
			write(t, sub+"/a.txt", "1\n")
			runGit(t, sub, "stash", "-q")
		}, []string{"stash: WIP on"}},
		{"file where it is not checked out", func(t *testing.T, sub string) {
			runGit(t, filepath.Dir(sub), "submodule", "deinit", "-q", "-f", "mod")
			write(t, sub+"/new", "1\n")
		}, []string{"mod/new"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			runGit(t, repo, "submodule", "--quiet", "add", newRepo(t), "mod")
			runGit(t, repo, "commit", "-q", "-m", "Add a module")
			m, base := newManager(t)
			w := create(t, m, request(repo, "w1"))
			runGit(t, w.Root, "submodule", "--quiet", "update", "--init")
			tc.do(t, filepath.Join(w.Root, "mod"))
			_, err := m.Delete(context.Background(), w, false, nil)
			refused, ok := errors.AsType[*workspace.WorkError](err)
			if ok != (tc.want != nil) || !ok && err != nil {
				t.Fatalf("Delete: %v", err)
			}
			if !ok {
				return
			}
			list := strings.Join(slices.Concat(refused.Loss.Changed, refused.Loss.Untracked, refused.Loss.Commits, refused.Loss.Stashed), "\n")
			for _, part := range tc.want {
				if !strings.Contains(list, part) {
					t.Errorf("%q is not in %q", part, list)
				}
			}
			if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
				t.Fatal(err)
			}
			dropSnapshot(t, repo, w.ID)
			if got := state(t, repo, base); strings.Contains(got, "w1") {
				t.Errorf("left behind:\n%s", got)
			}
		})
	}
}

// An entry that is not whole (a git that was killed) makes git give up on all
// worktrees of the repository: then nothing is known, and nothing is deleted.
func TestDeleteBesideHalfEntry(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	ctx := context.Background()
	w := create(t, m, request(newRepo(t), "w1"))
	half := filepath.Join(w.GitDir, "worktrees", "half")
	write(t, half+"/gitdir", "/none/.git\n")
	write(t, half+"/HEAD", "ref: refs/heads/none\n")
	write(t, half+"/commondir", "")
	if _, err := m.Delete(ctx, w, false, nil); !errors.Is(err, workspace.ErrUnknown) || !strings.Contains(err.Error(), half) {
		t.Errorf("Delete: %v", err)
	}
	if err := os.RemoveAll(half); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(ctx, w, false, nil); err != nil {
		t.Error(err)
	}
}

// A git that lists branches or worktrees dies of one that another git makes or
// removes at the moment: it is asked again.
func TestDeleteBesideWhatVanishes(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	m, _ := newManager(t)
	repo := newRepo(t)
	for i, tt := range []struct{ of, says string }{
		{"rev-list*--branches", "bad object middleman/other"},
		{"worktree list", "Invalid path '/r/.git/worktrees/other': No such file or directory"},
		{"worktree list", "failed to read .git/worktrees/other/commondir: Success"},
		{"worktree list", "failed to read '/r/.git/worktrees/other/locked': No such file or directory"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			w := create(t, m, request(repo, fmt.Sprintf("w%d", i)))
			dir := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *%s*) if ! test -e %[2]s/met; then\n"+
				">%[2]s/met; echo \"fatal: %[3]s\" >&2; exit 128\nfi ;; esac\nexec %[4]s \"$@\"\n", strings.ReplaceAll(tt.of, " ", "\\ "), dir, tt.says, real)
			testenv.WriteProgram(t, filepath.Join(dir, "git"), script)
			t.Setenv("PATH", dir+":"+path)
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(dir + "/met"); err != nil {
				t.Errorf("git was not asked: %v", err)
			}
		})
	}
}

// Module caches are read-only directories, and names need not be UTF-8.
func TestDeleteReadOnlyDirectories(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	dir := filepath.Join(w.Root, "cache", "mod\xff", "v1")
	write(t, dir+"/file", "x")
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}
