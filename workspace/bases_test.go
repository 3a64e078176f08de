package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

// newForge is a repository with a pull request 7 and a merge request 9, which
// are on no branch, and their commits.
func newForge(t *testing.T) (forge, pull, merge string) {
	t.Helper()
	forge = newRepo(t)
	for _, change := range []struct{ ref, file string }{{"refs/pull/7/head", "pull"}, {"refs/merge-requests/9/head", "merge"}} {
		runGit(t, forge, "checkout", "-q", "--detach", "main")
		commit(t, forge, change.file, change.ref)
		runGit(t, forge, "update-ref", change.ref, "HEAD")
	}
	runGit(t, forge, "tag", "not-to-be-fetched", "refs/pull/7/head")
	runGit(t, forge, "checkout", "-q", "main")
	return forge, runGit(t, forge, "rev-parse", "refs/pull/7/head"), runGit(t, forge, "rev-parse", "refs/merge-requests/9/head")
}

// A pull or merge request is fetched from the remote that is for it, by its
// ref, and nothing else of the repository changes.
func TestCreateFromChange(t *testing.T) {
	t.Parallel()
	forge, pull, merge := newForge(t)
	for _, tc := range []struct {
		name, base, want string
		make             func(t *testing.T, repo string)
	}{
		{"origin by path", "pr:7", pull, func(t *testing.T, repo string) { runGit(t, repo, "remote", "add", "origin", forge) }},
		{"origin by URL", "mr:9", merge, func(t *testing.T, repo string) { runGit(t, repo, "remote", "add", "origin", "file://"+forge) }},
		{"origin by a relative path", "mr:9", merge, func(t *testing.T, repo string) {
			path, err := filepath.Rel(repo, forge)
			if err != nil {
				t.Fatal(err)
			}
			runGit(t, repo, "remote", "add", "origin", path)
		}},
		{"origin among others", "pr:7", pull, func(t *testing.T, repo string) {
			runGit(t, repo, "remote", "add", "fork", repo)
			runGit(t, repo, "remote", "add", "origin", forge)
		}},
		{"the only remote", "pr:7", pull, func(t *testing.T, repo string) { runGit(t, repo, "remote", "add", "upstream", forge) }},
		{"the upstream of HEAD", "pr:7", pull, func(t *testing.T, repo string) {
			runGit(t, repo, "remote", "add", "fork", repo)
			runGit(t, repo, "remote", "add", "theirs", forge)
			runGit(t, repo, "config", "branch.main.remote", "theirs")
			runGit(t, repo, "config", "branch.main.merge", "refs/heads/main")
		}},
		{"a remote that is told to fetch all", "pr:7", pull, func(t *testing.T, repo string) {
			runGit(t, repo, "remote", "add", "--tags", "origin", forge)
			runGit(t, repo, "config", "--add", "remote.origin.fetch", "+refs/pull/*/head:refs/remotes/origin/pr/*")
			runGit(t, repo, "config", "remote.origin.prune", "true")
			runGit(t, repo, "config", "core.logAllRefUpdates", "always")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			tc.make(t, repo)
			m, base := newManager(t)
			before := state(t, repo, base)
			r := request(repo, "w1")
			r.Base = tc.base
			var stages []string
			w, err := m.Create(context.Background(), r, func(s workspace.Stage) {
				if s.State == "done" {
					stages = append(stages, s.Name)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := runGit(t, w.Root, "rev-parse", "HEAD"); got != tc.want || w.BaseCommit != tc.want || w.Base != tc.base {
				t.Errorf("HEAD %s, recorded %s at %s, want %s", got, w.Base, w.BaseCommit, tc.want)
			}
			if !slices.Equal(stages, []string{"validate", "fetch", "resolve", "add", "checkout", "ready"}) {
				t.Errorf("stages %q", stages)
			}
			// What the forge has is no work of the workspace's.
			if loss, err := m.Delete(context.Background(), w, false, nil); err != nil || !loss.Empty() {
				t.Errorf("delete: %+v, %v", loss, err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

func TestCreateFromChangeRefuses(t *testing.T) {
	t.Parallel()
	forge, _, _ := newForge(t)
	for _, tc := range []struct {
		name, base string
		make       func(t *testing.T, repo string)
		want       error
		say        []string
	}{
		{"no such request", "pr:8", func(t *testing.T, repo string) { runGit(t, repo, "remote", "add", "origin", forge) },
			workspace.ErrBadBase, []string{"pr:8", "remote origin", "refs/pull/8/head"}},
		{"no remote", "pr:7", func(*testing.T, string) {}, workspace.ErrBadBase, []string{"pr:7", "no remote"}},
		{"remotes that nothing tells apart", "pr:7", func(t *testing.T, repo string) {
			runGit(t, repo, "remote", "add", "a", forge)
			runGit(t, repo, "remote", "add", "b", forge)
		}, workspace.ErrBadBase, []string{"a, b"}},
		{"a remote that is not there", "mr:9", func(t *testing.T, repo string) { runGit(t, repo, "remote", "add", "origin", repo+"-gone") },
			workspace.ErrFetch, []string{"mr:9", "remote origin", "refs/merge-requests/9/head"}},
		{"a program as remote", "pr:7", func(t *testing.T, repo string) {
			runGit(t, repo, "remote", "add", "origin", "ext::sh -c 'touch "+repo+"/ran'")
		}, workspace.ErrFetch, []string{"remote origin"}},
		{"no number", "pr:", nil, workspace.ErrBadBase, []string{"pr:"}},
		{"a path for a number", "pr:../7", nil, workspace.ErrBadBase, []string{"pr:../7"}},
		{"an option for a number", "mr:--all", nil, workspace.ErrBadBase, []string{"mr:--all"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			if tc.make != nil {
				tc.make(t, repo)
			}
			m, base := newManager(t)
			before := state(t, repo, base)
			r := request(repo, "w1")
			r.Base = tc.base
			_, err := m.Create(context.Background(), r, nil)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			for _, say := range tc.say {
				if !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error is not one line that says %q: %v", say, err)
				}
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
			if _, err := os.Lstat(repo + "/ran"); err == nil {
				t.Error("a program of the repository's ran")
			}
		})
	}
}

// A full repository stays one: nothing is ever fetched with a filter.
func TestFetchKeepsRepositoryWhole(t *testing.T) {
	t.Parallel()
	forge, _, _ := newForge(t)
	runGit(t, forge, "config", "uploadpack.allowFilter", "true")
	repo := newRepo(t)
	runGit(t, repo, "remote", "add", "origin", "file://"+forge)
	m, _ := newManager(t)
	r := request(repo, "w1")
	r.Base = "pr:7"
	create(t, m, r)
	if got, _ := tryGit(repo, "config", "--get-regexp", `promisor|partialclone`); got != "" {
		t.Errorf("now a partial clone: %s", got)
	}
}

func TestCreateFromDefault(t *testing.T) {
	t.Parallel()
	origin := newRepo(t)
	runGit(t, origin, "branch", "-m", "trunk")
	clone := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "clone")
		runGit(t, "/", "clone", "-q", origin, dir)
		commit(t, dir, "mine", "not on the remote\n")
		runGit(t, dir, "checkout", "-q", "-b", "feature")
		return dir
	}
	for _, tc := range []struct {
		name, want string // want is the ref's short name, "" a refusal
		make       func(t *testing.T) string
	}{
		{"the remote's HEAD", "origin/trunk", clone},
		{"the remote's HEAD is missing", "origin/trunk", func(t *testing.T) string {
			dir := clone(t)
			runGit(t, dir, "remote", "set-head", "origin", "--delete")
			return dir
		}},
		{"the remote's HEAD leads nowhere", "origin/main", func(t *testing.T) string {
			dir := clone(t)
			runGit(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD~1")
			runGit(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
			return dir
		}},
		{"init.defaultBranch", "devel", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "branch", "devel", "HEAD~1")
			runGit(t, repo, "config", "init.defaultBranch", "devel")
			return repo
		}},
		{"main", "main", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "checkout", "-q", "-b", "feature")
			return repo
		}},
		{"master", "master", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "branch", "-m", "master")
			runGit(t, repo, "checkout", "-q", "-b", "feature")
			return repo
		}},
		{"the only branch", "odd", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "branch", "-m", "odd")
			runGit(t, repo, "checkout", "-q", "--detach")
			return repo
		}},
		{"a branch of that name", "default", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "branch", "default", "HEAD~1")
			return repo
		}},
		{"nothing tells", "", func(t *testing.T) string {
			repo := newRepo(t)
			runGit(t, repo, "branch", "-m", "one")
			runGit(t, repo, "branch", "two")
			return repo
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := tc.make(t)
			m, _ := newManager(t)
			r := request(repo, "w1")
			r.Base = "default"
			w, err := m.Create(context.Background(), r, nil)
			if tc.want == "" {
				if !errors.Is(err, workspace.ErrBadBase) || !strings.Contains(err.Error(), "set-head") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || w.Base != tc.want || w.BaseCommit != runGit(t, repo, "rev-parse", tc.want) {
				t.Errorf("base %s at %s, %v, want %s", w.Base, w.BaseCommit, err, tc.want)
			}
		})
	}
}

// On a branch without commits, the default branch is what one can begin at.
func TestCreateFromUnbornHead(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	runGit(t, repo, "symbolic-ref", "HEAD", "refs/heads/unborn")
	m, _ := newManager(t)
	if w := create(t, m, request(repo, "w1")); w.Base != "main" || w.BaseCommit != runGit(t, repo, "rev-parse", "main") {
		t.Errorf("base %s at %s", w.Base, w.BaseCommit)
	}
}
