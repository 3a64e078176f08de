package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"middleman/workspace"
)

// What a user does in a worktree, and what Inspect, and a refused Delete, must
// say would be lost. Where nothing is, Delete must go through.
func TestInspect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want workspace.Loss
	}{
		{"nothing", func(*testing.T, workspace.Workspace) {}, workspace.Loss{}},
		{"touched", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "one\n")
		}, workspace.Loss{}},
		{"changed", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "1\n")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"staged", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/new", "1\n")
			runGit(t, w.Root, "add", "new")
		}, workspace.Loss{Changed: []string{"new"}}},
		{"staged, and put back in the checkout", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "1\n")
			runGit(t, w.Root, "add", "a.txt")
			write(t, w.Root+"/a.txt", "one\n")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"deleted", func(t *testing.T, w workspace.Workspace) {
			os.Remove(w.Root + "/a.txt")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"renamed", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "mv", "a.txt", "z.txt")
		}, workspace.Loss{Changed: []string{"a.txt", "z.txt"}}},
		{"executable", func(t *testing.T, w workspace.Workspace) {
			os.Chmod(w.Root+"/a.txt", 0o755)
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"file became a link", func(t *testing.T, w workspace.Workspace) {
			os.Remove(w.Root + "/a.txt")
			os.Symlink("sub", w.Root+"/a.txt")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"untracked", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/dir/one", "1")
			write(t, w.Root+"/dir/two", "2")
		}, workspace.Loss{Untracked: []string{"dir/one", "dir/two"}}},
		{"untracked that the user's status hides", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "config", "status.showUntrackedFiles", "no")
			write(t, w.Root+"/one", "1")
		}, workspace.Loss{Untracked: []string{"one"}}},
		{"ignored", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "*.log\n")
			write(t, w.Root+"/x.log", "1")
		}, workspace.Loss{Ignored: []string{"x.log"}}},
		{"odd names", func(t *testing.T, w workspace.Workspace) {
			for _, name := range []string{"new\nline", `quo"te`, `"quoted"`, "-dash", "\xff\xfe", "sp ace", "ünï", "? x"} {
				write(t, w.Root+"/"+name, "1")
			}
		}, workspace.Loss{Untracked: []string{`"\"quoted\""`, "-dash", "? x", `"new\nline"`, `quo"te`, "sp ace", "ünï", `"\xff\xfe"`}}},
		{"nested repository", func(t *testing.T, w workspace.Workspace) {
			runGit(t, "/", "init", "-q", w.Root+"/inner")
			commit(t, w.Root+"/inner", "x", "1")
		}, workspace.Loss{Untracked: []string{"inner/ (a repository)"}}},
		{"ignored directory", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "/data/\n")
			write(t, w.Root+"/data/one", "1")
			os.Symlink(w.Repository, w.Root+"/data/link")
		}, workspace.Loss{Ignored: []string{"data/"}}},
		{"repository in an ignored directory", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "/vendor/\n")
			runGit(t, "/", "clone", "-q", w.Repository, w.Root+"/vendor/deep/lib")
		}, workspace.Loss{Ignored: []string{"vendor/"}, Untracked: []string{"vendor/deep/lib/ (a repository)"}}},
		{"ignored repository, bare", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "*.git/\n")
			runGit(t, "/", "init", "-q", "--bare", w.Root+"/lib.git")
		}, workspace.Loss{Ignored: []string{"lib.git/"}, Untracked: []string{"lib.git/ (a repository)"}}},
		{"worktree in an ignored directory", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "/.worktrees/\n")
			runGit(t, w.Root, "worktree", "add", "-q", "-b", "feature", ".worktrees/feature")
		}, workspace.Loss{Ignored: []string{".worktrees/"}, Untracked: []string{".worktrees/feature/ (the worktree of branch feature)"}}},
		{"worktree, detached", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "worktree", "add", "-q", "--detach", "inner")
		}, workspace.Loss{Untracked: []string{"inner/ (a worktree)"}}},
		{"worktree that lost its .git", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "/inner/\n")
			runGit(t, w.Root, "worktree", "add", "-q", "--detach", "inner")
			os.Remove(w.Root + "/inner/.git")
		}, workspace.Loss{Ignored: []string{"inner/"}, Untracked: []string{"inner/ (a worktree)"}}},
		{"worktree that is gone", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "worktree", "add", "-q", "--detach", "inner")
			os.RemoveAll(w.Root + "/inner")
		}, workspace.Loss{}},
		{"commit reset away", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "reset", "-q", "--hard", "HEAD^")
		}, workspace.Loss{Abandoned: []string{"HEAD@{1}"}}},
		{"commit detached and left", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "checkout", "-q", w.Branch)
		}, workspace.Loss{Abandoned: []string{"HEAD@{1}"}}},
		{"commit amended", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "commit", "-q", "--amend", "-m", "Better")
		}, workspace.Loss{Commits: []string{"HEAD"}, Abandoned: []string{"HEAD@{1}"}}},
		{"commit in a ref of the worktree", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "update-ref", "refs/worktree/saved", "HEAD")
			runGit(t, w.Root, "reset", "-q", "--hard", "HEAD^")
			runGit(t, w.Root, "reflog", "expire", "--expire=all", "HEAD")
		}, workspace.Loss{Abandoned: []string{"refs/worktree/saved"}}},
		{"commit that only the branch's reflog has", func(t *testing.T, w workspace.Workspace) {
			made := runGit(t, w.Root, "commit-tree", "-p", "HEAD", "-m", "X", "HEAD^{tree}")
			runGit(t, w.Repository, "update-ref", "-m", "x", "refs/heads/"+w.Branch, made)
			runGit(t, w.Repository, "update-ref", "-m", "y", "refs/heads/"+w.Branch, made+"^")
		}, workspace.Loss{Abandoned: []string{w0 + "@{1}"}}},
		{"commit detached, and HEAD has none", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "update-ref", "ORIG_HEAD", "HEAD")
			runGit(t, w.Root, "checkout", "-q", "--orphan", "new")
		}, workspace.Loss{Changed: []string{"a.txt", "c.txt", "sub/deep/b.txt"}, Abandoned: []string{"ORIG_HEAD"}}},
		{"branch moved to what another has, and back", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Repository, "branch", "other", runGit(t, w.Root, "commit-tree", "-p", "HEAD", "-m", "X", "HEAD^{tree}"))
			runGit(t, w.Root, "reset", "-q", "--hard", "other")
			runGit(t, w.Root, "reset", "-q", "--hard", "main")
		}, workspace.Loss{}},
		{"commit reset away, but tagged", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "tag", "kept")
			runGit(t, w.Root, "reset", "-q", "--hard", "HEAD^")
		}, workspace.Loss{}},
		{"assumed unchanged, but changed", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "update-index", "--assume-unchanged", "a.txt")
			write(t, w.Root+"/a.txt", "1\n")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"skipped, but changed", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "update-index", "--skip-worktree", "a.txt")
			write(t, w.Root+"/a.txt", "1\n")
		}, workspace.Loss{Changed: []string{"a.txt"}}},
		{"skipped and unchanged", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "update-index", "--skip-worktree", "a.txt")
		}, workspace.Loss{}},
		{"sparse", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "sparse-checkout", "set", "--no-cone", "/a.txt")
		}, workspace.Loss{}},
		{"commits", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
		}, workspace.Loss{Commits: []string{"HEAD"}}},
		{"commits merged", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Repository, "merge", "-q", "--ff-only", w.Branch)
		}, workspace.Loss{}},
		{"commits pushed", func(t *testing.T, w workspace.Workspace) {
			remote := t.TempDir()
			runGit(t, remote, "init", "-q", "--bare")
			runGit(t, w.Root, "remote", "add", "origin", remote)
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "push", "-q", "-u", "origin", w.Branch)
		}, workspace.Loss{}},
		{"commits on a detached HEAD", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
			commit(t, w.Root, "c.txt", "3\n")
		}, workspace.Loss{Commits: []string{"HEAD"}}},
		{"commits on another branch", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "-b", "mine")
			commit(t, w.Root, "c.txt", "3\n")
		}, workspace.Loss{}},
		{"commits on our branch, left", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "checkout", "-q", "--detach", "main")
		}, workspace.Loss{Commits: []string{w0}}},
		{"commits on our branch, checked out elsewhere", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			runGit(t, w.Root, "checkout", "-q", "--detach", "main")
			runGit(t, w.Repository, "worktree", "add", "-q", filepath.Join(t.TempDir(), "x"), w.Branch)
		}, workspace.Loss{}},
		{"orphan", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--orphan", "fresh")
		}, workspace.Loss{Changed: []string{"a.txt", "sub/deep/b.txt"}}},
		{"orphan, empty", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "switch", "-q", "--orphan", "fresh")
		}, workspace.Loss{}},
		{"stash", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "1\n")
			runGit(t, w.Root, "stash", "push", "-q", "-m", "half\tdone")
		}, workspace.Loss{Stashed: []string{"\"stash@{0}: On middleman/fix: half\\tdone\""}}},
		{"stash of another branch", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Repository+"/a.txt", "1\n")
			runGit(t, w.Repository, "stash", "push", "-q", "-m", "On middleman/fix: no")
		}, workspace.Loss{}},
		{"merge", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "-b", "mine")
			runGit(t, w.Root, "branch", "-q", "other", "HEAD~1")
			runGit(t, w.Root, "merge", "-q", "--no-ff", "--no-commit", conflicting(t, w))
		}, workspace.Loss{Operation: "merge", Changed: []string{"theirs"}}},
		{"rebase", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "-b", "mine")
			commit(t, w.Root, "theirs", "not that\n")
			if out, err := tryGit(w.Root, "rebase", conflicting(t, w)); err == nil {
				t.Fatalf("no conflict: %s", out)
			}
		}, workspace.Loss{Operation: "rebase", Changed: []string{"theirs"}}},
		{"cherry-pick", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "theirs", "not that\n")
			runGit(t, w.Repository, "branch", "copy", w.Branch)
			if out, err := tryGit(w.Root, "cherry-pick", conflicting(t, w)); err == nil {
				t.Fatalf("no conflict: %s", out)
			}
		}, workspace.Loss{Operation: "cherry-pick", Changed: []string{"theirs"}}},
		{"bisect", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "bisect", "start", "HEAD", "HEAD~1")
		}, workspace.Loss{Operation: "bisect"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			tc.do(t, w)
			want := named(t, w, tc.want)
			got, err := m.Inspect(context.Background(), w)
			if err != nil {
				t.Fatal(err)
			}
			if kept := !want.Empty() || len(want.Ignored) > 0 || len(want.Abandoned) > 0; got.Restorable != kept || got.Unkept != nil {
				t.Errorf("it would be kept: %v, but for %q", got.Restorable, got.Unkept)
			}
			forecast := got
			got.Restorable = false
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
			_, err = m.Delete(context.Background(), w, false, nil)
			if want.Empty() {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if refused, ok := errors.AsType[*workspace.WorkError](err); !ok || !reflect.DeepEqual(refused.Loss, want) {
				t.Fatalf("delete: %v", err)
			}
			if got, err := m.Inspect(context.Background(), w); err != nil || !reflect.DeepEqual(got, forecast) {
				t.Fatalf("a refused delete changed it to %+v, %v", got, err)
			}
			if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

const w0 = "middleman/fix" // in a wanted loss: the commit that this branch is at

// named puts commits in the place of revisions.
func named(t *testing.T, w workspace.Workspace, loss workspace.Loss) workspace.Loss {
	for _, list := range []*[]string{&loss.Commits, &loss.Abandoned} {
		var commits []string
		for _, revision := range *list {
			commits = append(commits, runGit(t, w.Root, "show", "-s", "--format=%h %s", revision))
		}
		*list = commits
	}
	return loss
}

// conflicting is a commit on a branch of its own that adds the file "theirs".
func conflicting(t *testing.T, w workspace.Workspace) string {
	runGit(t, w.Repository, "checkout", "-q", "-b", "theirs", "main")
	commit(t, w.Repository, "theirs", "that\n")
	return runGit(t, w.Repository, "rev-parse", "HEAD")
}

func TestInspectTruncates(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	for i := range 150 {
		write(t, fmt.Sprintf("%s/file-%03d", w.Root, i), "x")
	}
	loss, err := m.Inspect(context.Background(), w)
	if err != nil || len(loss.Untracked) != 100 || !loss.Truncated {
		t.Errorf("%d untracked, truncated %v, %v", len(loss.Untracked), loss.Truncated, err)
	}
	if got := loss.Summary(); got != "100 untracked files, and more" {
		t.Errorf("summary %q", got)
	}
}

// Where it cannot be found out what would be lost, that is an error and never
// an empty loss; and Delete refuses.
func TestInspectUnknown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
	}{
		{".git removed", func(t *testing.T, w workspace.Workspace) { os.Remove(w.Root + "/.git") }},
		{".git replaced by a repository", func(t *testing.T, w workspace.Workspace) {
			os.Remove(w.Root + "/.git")
			runGit(t, w.Root, "init", "-q")
			runGit(t, w.Root, "add", ".")
			runGit(t, w.Root, "commit", "-q", "-m", "All clean")
		}},
		{".git leads elsewhere", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/.git", "gitdir: "+newRepo(t)+"/.git\n")
		}},
		{".git is a link", func(t *testing.T, w workspace.Workspace) {
			os.Rename(w.Root+"/.git", w.Root+"/x")
			os.Symlink("x", w.Root+"/.git")
		}},
		{"entry gone", func(t *testing.T, w workspace.Workspace) { os.RemoveAll(w.GitDir + "/worktrees") }},
		{"repository gone", func(t *testing.T, w workspace.Workspace) { os.RemoveAll(w.Repository) }},
		{"index broken", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/worktrees/w1/index", "no index")
		}},
		{"HEAD broken", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/worktrees/w1/HEAD", "nonsense\n")
		}},
		{"object missing", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "3\n")
			head := runGit(t, w.Root, "rev-parse", "HEAD")
			os.Remove(w.GitDir + "/objects/" + head[:2] + "/" + head[2:])
		}},
		{"directory became a link", func(t *testing.T, w workspace.Workspace) {
			os.Rename(w.Root, w.Root+"x")
			os.Symlink(w.Root+"x", w.Root)
		}},
		{"base gone", func(t *testing.T, w workspace.Workspace) { rename(t, baseOf(w), baseOf(w)+"x") }},
		{"group gone", func(t *testing.T, w workspace.Workspace) { rename(t, filepath.Dir(w.Root), filepath.Dir(w.Root)+"x") }},
		{"group became a link", func(t *testing.T, w workspace.Workspace) {
			rename(t, filepath.Dir(w.Root), filepath.Dir(w.Root)+"x")
			os.Symlink("repox", filepath.Dir(w.Root))
		}},
		{"group is another one", func(t *testing.T, w workspace.Workspace) {
			rename(t, filepath.Dir(w.Root), filepath.Dir(w.Root)+"x")
			write(t, w.Root+"/theirs", "x")
		}},
		{"others can write to the group", func(t *testing.T, w workspace.Workspace) { os.Chmod(filepath.Dir(w.Root), 0o777) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			write(t, w.Root+"/precious", "work")
			tc.do(t, w)
			if loss, err := m.Inspect(context.Background(), w); err == nil {
				t.Errorf("Inspect says %+v", loss)
			}
			_, err := m.Delete(context.Background(), w, false, nil)
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("Delete: %v", err)
			}
			found, _ := filepath.Glob(filepath.Dir(base) + "/work*/repo*/fix*/precious")
			if len(found) == 0 {
				t.Error("the file is gone")
			}
		})
	}
}

// A worktree in another place than the base is none of ours.
func TestInspectRefusesForeignRoot(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	w := create(t, m, request(repo, "w1"))
	for _, root := range []string{repo, base, base + "/../w1", base + "/w2", "/", ""} {
		w.Root = root
		if _, err := m.Inspect(context.Background(), w); !errors.Is(err, workspace.ErrEscapes) {
			t.Errorf("Inspect %q: %v", root, err)
		}
		if _, err := m.Delete(context.Background(), w, true, nil); !errors.Is(err, workspace.ErrEscapes) {
			t.Errorf("Delete %q: %v", root, err)
		}
	}
}
