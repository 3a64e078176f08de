package workspace_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"middleman/workspace"
)

// What a user does in a worktree, and how its status tells it.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want workspace.Status // without Head, AsOf, Source
	}{
		{"nothing", func(*testing.T, workspace.Workspace) {}, workspace.Status{Files: &workspace.Files{}}},
		{"changed", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "1\n")
		}, workspace.Status{Files: &workspace.Files{Changed: 1}}},
		{"staged and changed again", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/a.txt", "1\n")
			runGit(t, w.Root, "add", "a.txt")
			write(t, w.Root+"/a.txt", "2\n")
		}, workspace.Status{Files: &workspace.Files{Staged: 1, Changed: 1}}},
		{"untracked, odd names, a directory is one", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/new\nline", "1")
			write(t, w.Root+"/\xff", "1")
			write(t, w.Root+"/dir/one", "1")
			write(t, w.Root+"/dir/two", "1")
		}, workspace.Status{Files: &workspace.Files{Untracked: 3}}},
		{"untracked that the user's status hides", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "config", "status.showUntrackedFiles", "no")
			write(t, w.Root+"/one", "1")
		}, workspace.Status{Files: &workspace.Files{Untracked: 1}}},
		{"ignored", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/info/exclude", "*.log\n")
			write(t, w.Root+"/x.log", "1")
		}, workspace.Status{Files: &workspace.Files{}}},
		{"modes as the repository's configuration has them", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "config", "core.fileMode", "false")
			os.Chmod(w.Root+"/a.txt", 0o755)
		}, workspace.Status{Files: &workspace.Files{}}},
		{"merge that stopped", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "-b", "other")
			commit(t, w.Root, "a.txt", "other\n")
			runGit(t, w.Root, "checkout", "-q", w.Branch)
			commit(t, w.Root, "a.txt", "mine\n")
			_, _ = tryGit(w.Root, "merge", "other")
		}, workspace.Status{Files: &workspace.Files{Conflicted: 1}, Operation: "merge", Base: &workspace.Distance{Of: "main", Ahead: 1}}},
		{"ahead and behind of the base as it is now", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "1\n")
			commit(t, w.Root, "d.txt", "1\n")
			commit(t, w.Repository, "e.txt", "1\n")
		}, workspace.Status{Files: &workspace.Files{}, Base: &workspace.Distance{Of: "main", Ahead: 2, Behind: 1}}},
		{"upstream", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "config", "remote.origin.url", w.Repository)
			runGit(t, w.Root, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
			runGit(t, w.Root, "fetch", "-q", "origin")
			runGit(t, w.Root, "branch", "-q", "--set-upstream-to=origin/main")
			commit(t, w.Root, "c.txt", "1\n")
		}, workspace.Status{Files: &workspace.Files{}, Base: &workspace.Distance{Of: "main", Ahead: 1}, Upstream: &workspace.Distance{Of: "origin/main", Ahead: 1}}},
		{"upstream that is gone", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "config", "remote.origin.url", w.Repository)
			runGit(t, w.Root, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
			runGit(t, w.Root, "fetch", "-q", "origin")
			runGit(t, w.Root, "branch", "-q", "--set-upstream-to=origin/main")
			runGit(t, w.Root, "update-ref", "-d", "refs/remotes/origin/main")
		}, workspace.Status{Files: &workspace.Files{},
			Unknown: []string{"upstream origin/main: there is no such branch here; it was deleted or never fetched"}}},
		{"base that is gone", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "1\n")
			runGit(t, w.Repository, "checkout", "-q", "-b", "other")
			runGit(t, w.Repository, "branch", "-D", "main")
		}, workspace.Status{Files: &workspace.Files{}, Base: &workspace.Distance{Of: "main as it was", Ahead: 1}}},
		{"detached", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "checkout", "-q", "--detach")
		}, workspace.Status{Branch: "-", Files: &workspace.Files{}}},
		{"replacement that hides a commit", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "c.txt", "1\n")
			runGit(t, w.Root, "replace", "HEAD", "HEAD^")
		}, workspace.Status{Files: &workspace.Files{}, Base: &workspace.Distance{Of: "main", Ahead: 1}}},
		{"damaged index", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/worktrees/w1/index", "DIRC odd")
		}, workspace.Status{Branch: "-", Unknown: []string{"files and upstream: "}}},
		{".git that leads elsewhere", func(t *testing.T, w workspace.Workspace) {
			runGit(t, "/", "init", "-q", w.Root+"/x/y")
			os.Remove(w.Root + "/.git")
			write(t, w.Root+"/.git", "gitdir: x/y/.git\n")
			write(t, w.Root+"/a.txt", "1\n")
		}, workspace.Status{Files: &workspace.Files{Changed: 1, Untracked: 1}, Warnings: []string{".git: "}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			m, _ := newManager(t)
			w := create(t, m, request(repo, "w1"))
			tc.do(t, w)
			checkStatus(t, m, w, tc.want)
		})
	}
}

func checkStatus(t *testing.T, m *workspace.Manager, w workspace.Workspace, want workspace.Status) {
	t.Helper()
	before := state(t, w.Repository, w.Repository+"/none")
	got, err := m.Status(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	if state(t, w.Repository, w.Repository+"/none") != before {
		t.Error("the repository was changed")
	}
	if got.AsOf.IsZero() || time.Since(got.AsOf) > time.Minute || got.Source != "git" {
		t.Errorf("as of %v, source %q", got.AsOf, got.Source)
	}
	if got.Files != nil && got.Head != runGit(t, w.Repository, "rev-parse", "worktrees/w1/HEAD") {
		t.Errorf("head %s", got.Head)
	}
	for i, list := range [][]string{got.Unknown, got.Warnings} {
		prefixes := [][]string{want.Unknown, want.Warnings}[i]
		if len(list) != len(prefixes) || len(list) > 0 && !strings.HasPrefix(list[0], prefixes[0]) {
			t.Errorf("said %q, want %q", list, prefixes)
		}
	}
	switch want.Branch {
	case "":
		want.Branch = w.Branch
	case "-":
		want.Branch = ""
	}
	if want.Base == nil && want.Files != nil {
		want.Base = &workspace.Distance{Of: "main"}
	}
	got.Head, got.AsOf, got.Source, got.Unknown, got.Warnings = "", time.Time{}, "", nil, nil
	want.Unknown, want.Warnings = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v files %+v base %+v upstream %+v", got, got.Files, got.Base, got.Upstream)
	}
}

// Of a directory without a repository and of one that is gone there is no
// status, and the two are told apart.
func TestStatusOfOthers(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	ctx := context.Background()
	dir := create(t, m, workspace.CreateRequest{ID: "d1", Name: "notes", Mode: workspace.ModeDirectory})
	if _, err := m.Status(ctx, dir); !errors.Is(err, workspace.ErrNotRepository) {
		t.Errorf("directory: %v", err)
	}
	repo := newRepo(t)
	here := create(t, m, workspace.CreateRequest{ID: "i1", Name: "here", Mode: workspace.ModeInPlace, Directory: repo + "/sub"})
	write(t, repo+"/a.txt", "1\n")
	if s, err := m.Status(ctx, here); err != nil || s.Branch != "main" || s.Files == nil || s.Files.Changed != 1 || s.Base != nil {
		t.Errorf("in place: %+v, %v", s, err)
	}
	elsewhere := t.TempDir()
	runGit(t, repo, "config", "core.worktree", elsewhere)
	if _, err := m.Status(ctx, here); !errors.Is(err, workspace.ErrNotRepository) {
		t.Errorf("a configuration led to %s: %v", elsewhere, err)
	}
	runGit(t, repo, "config", "--unset", "core.worktree")
	w := create(t, m, request(repo, "w1"))
	os.RemoveAll(w.Root)
	if _, err := m.Status(ctx, w); !errors.Is(err, workspace.ErrMissing) {
		t.Errorf("gone: %v", err)
	}
}

// A mark differs whenever what it stands for has changed.
func TestMark(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	before := m.Mark(w, "")
	if _, err := m.Status(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	if m.Mark(w, "") != before {
		t.Error("a look changed it")
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"new file at the top", func() { write(t, w.Root+"/new", "1") }},
		{"staged", func() { runGit(t, w.Root, "add", "new") }},
		{"commit", func() { runGit(t, w.Root, "commit", "-q", "-m", "New") }},
		{"branch moved from elsewhere", func() { runGit(t, repo, "update-ref", "refs/heads/"+w.Branch, "main") }},
		{"base moved", func() { commit(t, repo, "other", "1") }},
		{"refs packed", func() { runGit(t, repo, "pack-refs", "--all") }},
		{"checked out", func() { runGit(t, w.Root, "checkout", "-q", "--detach") }},
		{"merge in progress", func() { write(t, w.GitDir+"/worktrees/w1/MERGE_HEAD", "") }},
	} {
		before := m.Mark(w, "")
		step.do()
		if m.Mark(w, "") == before {
			t.Errorf("%s: the same mark", step.name)
		}
	}
}
