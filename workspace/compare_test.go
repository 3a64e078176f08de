package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/workspace"
)

func compare(t *testing.T, m *workspace.Manager, w workspace.Workspace, r workspace.DiffRequest) *workspace.Comparison {
	t.Helper()
	c, err := m.Compare(context.Background(), w, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func patch(t *testing.T, c *workspace.Comparison, most int64) (string, int64) {
	t.Helper()
	var b bytes.Buffer
	leftOut, err := c.Patch(context.Background(), &b, most)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), leftOut
}

// short is each file as "change path added deleted".
func short(t *testing.T, c *workspace.Comparison) []string {
	t.Helper()
	d, err := c.Files(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range d.Files {
		line := f.Change + " " + f.Path
		if f.From != "" {
			line += " from " + f.From
		}
		if line += fmt.Sprintf(" +%d -%d", f.Added, f.Deleted); f.Binary {
			line += " binary"
		}
		if f.Untracked {
			line += " untracked"
		}
		list = append(list, line)
	}
	return list
}

// The base goes on, the workspace commits, stages and writes: what each
// comparison shows of it.
func TestCompare(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	commit(t, w.Root, "mine.txt", "1\n")
	commit(t, repo, "theirs.txt", "something else\n")
	runGit(t, w.Root, "config", "remote.origin.url", repo)
	runGit(t, w.Root, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	write(t, w.Root+"/a.txt", "1\n2\n")
	write(t, w.Root+"/staged", "1\n")
	runGit(t, w.Root, "add", "staged")
	write(t, w.Root+"/dir/new", "1\n")
	before := state(t, repo, w.Root)
	for _, tc := range []struct {
		name string
		r    workspace.DiffRequest
		of   string
		want []string
	}{
		{"merge base", workspace.DiffRequest{}, "merge base with main",
			[]string{"changed a.txt +2 -1", "added dir/new +1 -0 untracked", "added mine.txt +1 -0", "added staged +1 -0"}},
		{"base as it is now", workspace.DiffRequest{Against: workspace.AgainstBase}, "main",
			[]string{"changed a.txt +2 -1", "added dir/new +1 -0 untracked", "added mine.txt +1 -0", "added staged +1 -0", "deleted theirs.txt +0 -1"}},
		{"head", workspace.DiffRequest{Against: workspace.AgainstHead}, "HEAD",
			[]string{"changed a.txt +2 -1", "added dir/new +1 -0 untracked", "added staged +1 -0"}},
		{"without untracked", workspace.DiffRequest{Against: workspace.AgainstHead, Tracked: true}, "HEAD",
			[]string{"changed a.txt +2 -1", "added staged +1 -0"}},
		{"paths", workspace.DiffRequest{Paths: []string{"dir", "a.txt"}}, "merge base with main",
			[]string{"changed a.txt +2 -1", "added dir/new +1 -0 untracked"}},
		{"a path is no pattern", workspace.DiffRequest{Paths: []string{"*.txt"}}, "merge base with main", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := compare(t, m, w, tc.r)
			if got := short(t, c); !slices.Equal(got, tc.want) || c.Of != tc.of {
				t.Errorf("against %s:\n%s", c.Of, strings.Join(got, "\n"))
			}
		})
	}
	for _, tc := range []struct {
		name string
		r    workspace.DiffRequest
		want error
	}{
		{"no upstream", workspace.DiffRequest{Against: workspace.AgainstUpstream}, workspace.ErrNothingToCompare},
		{"unknown word", workspace.DiffRequest{Against: "yesterday"}, workspace.ErrBadRequest},
		{"path outside", workspace.DiffRequest{Paths: []string{"../x"}}, workspace.ErrBadRequest},
		{"absolute path", workspace.DiffRequest{Paths: []string{"/etc/passwd"}}, workspace.ErrBadRequest},
	} {
		if _, err := m.Compare(context.Background(), w, tc.r); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if state(t, repo, w.Root) != before {
		t.Error("repository or checkout was changed")
	}
	runGit(t, w.Root, "fetch", "-q", "origin")
	runGit(t, w.Root, "branch", "-q", "--set-upstream-to=origin/main")
	c := compare(t, m, w, workspace.DiffRequest{Against: workspace.AgainstUpstream})
	if got := short(t, c); len(got) != 5 || c.Commit != runGit(t, repo, "rev-parse", "main") {
		t.Errorf("upstream %s: %q", c.Commit, got)
	}
	runGit(t, repo, "checkout", "-q", "--orphan", "alone")
	commit(t, repo, "alone", "1\n")
	runGit(t, repo, "branch", "-f", "main", "alone")
	if _, err := m.Compare(context.Background(), w, workspace.DiffRequest{}); !errors.Is(err, workspace.ErrNothingToCompare) {
		t.Errorf("no common history: %v", err)
	}
}

// The patch, applied to what it was compared with, gives the checkout, with
// names of any bytes, modes, links, deletions and renames.
func TestPatchIsWhole(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, "old name.txt", strings.Repeat("line\n", 50))
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	runGit(t, w.Root, "config", "diff.noprefix", "true")
	for i, name := range []string{"new\nline", `quo"te`, "-dash", "\xff\xfe", "sp ace", "ünï", "tab\there"} {
		write(t, w.Root+"/"+name, fmt.Sprintf("%d\n", i))
	}
	write(t, w.Root+"/no end of line", "x")
	write(t, w.Root+"/empty", "")
	write(t, w.Root+"/run", "#!/bin/sh\n")
	os.Chmod(w.Root+"/run", 0o755)
	os.Symlink("a.txt", w.Root+"/link")
	os.Remove(w.Root + "/sub/deep/b.txt")
	runGit(t, w.Root, "mv", "old name.txt", "new name.txt")
	text, leftOut := patch(t, compare(t, m, w, workspace.DiffRequest{}), 0)
	if leftOut != 0 || !strings.Contains(text, "rename from old name.txt") {
		t.Errorf("%d left out of\n%s", leftOut, text)
	}
	other := filepath.Join(t.TempDir(), "other")
	runGit(t, repo, "worktree", "add", "-q", "--detach", other, w.BaseCommit)
	file := filepath.Join(t.TempDir(), "patch")
	write(t, file, text)
	runGit(t, other, "apply", "--index", "--whitespace=nowarn", file)
	runGit(t, w.Root, "add", "-A")
	if got, want := runGit(t, other, "write-tree"), runGit(t, w.Root, "write-tree"); got != want {
		t.Errorf("another tree:\n%s", runGit(t, other, "diff", "--stat", want, got))
	}
}

func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/big", strings.Repeat("0123456789\n", 100_000))
	write(t, w.Root+"/bin", "\x00\x01\x02")
	runGit(t, "/", "init", "-q", w.Root+"/inner")
	commit(t, w.Root+"/inner", "x", "1")
	whole, _ := patch(t, compare(t, m, w, workspace.DiffRequest{}), 0)
	if !strings.Contains(whole, "Binary files /dev/null and b/bin differ\n") {
		t.Error("the binary file is not named")
	}
	c := compare(t, m, w, workspace.DiffRequest{})
	text, leftOut := patch(t, c, 1000)
	if len(text) > 1000 || !strings.HasSuffix(text, "\n") || !strings.HasPrefix(whole, text) || int(leftOut) != len(whole)-len(text) {
		t.Errorf("%d bytes, %d left out of %d", len(text), leftOut, len(whole))
	}
	if !reflect.DeepEqual(c.LeftOut, []string{"inner/ is a repository of its own"}) {
		t.Errorf("left out %q", c.LeftOut)
	}
	if got := short(t, c); !slices.Equal(got, []string{"added big +100000 -0 untracked", "added bin +0 -0 binary untracked"}) {
		t.Errorf("files %q", got)
	}
}

// A conflict is one file, a detached HEAD and a workspace without a base have
// something to be compared with.
func TestCompareOdd(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	commit(t, repo, "a.txt", "theirs\n")
	commit(t, w.Root, "a.txt", "mine\n")
	_, _ = tryGit(w.Root, "merge", "main")
	if got := short(t, compare(t, m, w, workspace.DiffRequest{Against: workspace.AgainstHead})); len(got) != 1 || !strings.HasPrefix(got[0], "conflict a.txt ") {
		t.Errorf("conflict: %q", got)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	runGit(t, "/", "init", "-q", empty)
	write(t, empty+"/x", "1\n")
	here := create(t, m, workspace.CreateRequest{ID: "i1", Name: "here", Mode: workspace.ModeInPlace, Directory: empty})
	if got := short(t, compare(t, m, here, workspace.DiffRequest{})); !slices.Equal(got, []string{"added x +1 -0 untracked"}) {
		t.Errorf("a repository without commits: %q", got)
	}
	dir := create(t, m, workspace.CreateRequest{ID: "d1", Name: "notes", Mode: workspace.ModeDirectory})
	if _, err := m.Compare(context.Background(), dir, workspace.DiffRequest{}); !errors.Is(err, workspace.ErrNotRepository) {
		t.Errorf("directory: %v", err)
	}
}

// A file that was changed at the moment when the index was written, to one of
// the same length, differs.
func TestCompareAtTheSameMoment(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	runGit(t, repo, "config", "core.trustctime", "false")
	runGit(t, repo, "config", "core.checkStat", "minimal")
	write(t, w.Root+"/new", "1")
	index := w.GitDir + "/worktrees/w1/index"
	moment := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, step := range []func() error{
		func() error { return os.Chtimes(w.Root+"/a.txt", moment, moment) },
		func() error { _, err := tryGit(w.Root, "update-index", "--refresh"); return err },
		func() error { return os.WriteFile(w.Root+"/a.txt", []byte("two\n"), 0o644) }, // was "one"
		func() error { return os.Chtimes(w.Root+"/a.txt", moment, moment) },
		func() error { return os.Chtimes(index, moment, moment) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := short(t, compare(t, m, w, workspace.DiffRequest{})); !slices.Equal(got, []string{"changed a.txt +1 -1", "added new +1 -0 untracked"}) {
		t.Errorf("%q", got)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	ctx := context.Background()
	for i := range 5 {
		runGit(t, w.Root, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Number %d", i))
	}
	message := filepath.Join(t.TempDir(), "message")
	write(t, message, "esc \x1b[31m "+strings.Repeat("long ", 40_000))
	runGit(t, w.Root, "commit", "-q", "--allow-empty", "-F", message, "--author", "Ün Ï <u@example.org>")
	commit(t, repo, "theirs", "1\n")
	list, err := m.Commits(ctx, w, workspace.CommitsRequest{Limit: 4})
	if err != nil {
		t.Fatal(err)
	}
	if list.Ahead != 6 || list.Behind != 1 || list.Of != "main" || len(list.Commits) != 4 || list.Next == "" || list.Side != "ahead" {
		t.Fatalf("%+v", list)
	}
	first := list.Commits[0]
	if first.Author != "Ün Ï" || first.Email != "u@example.org" || !strings.HasPrefix(first.Subject, `"esc \x1b[31m long`) ||
		len(first.Subject) > 1100 || first.Hash != runGit(t, w.Root, "rev-parse", "HEAD") || first.Time.IsZero() {
		t.Errorf("%+v", first)
	}
	// The pages are of one list, whatever is committed in between.
	commit(t, w.Root, "more", "1\n")
	rest, err := m.Commits(ctx, w, workspace.CommitsRequest{Limit: 4, Cursor: list.Next})
	if err != nil || len(rest.Commits) != 2 || rest.Commits[1].Subject != "Number 0" || rest.Next != "" {
		t.Errorf("%+v, %v", rest, err)
	}
	behind, err := m.Commits(ctx, w, workspace.CommitsRequest{Behind: true})
	if err != nil || len(behind.Commits) != 1 || behind.Commits[0].Subject != "Change theirs" || behind.Ahead != 7 {
		t.Errorf("%+v, %v", behind, err)
	}
	for _, cursor := range []string{"x", "--all..1", list.Head + "." + list.Commit + ".-1"} {
		if _, err := m.Commits(ctx, w, workspace.CommitsRequest{Cursor: cursor}); !errors.Is(err, workspace.ErrBadRequest) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if _, err := m.Commits(ctx, w, workspace.CommitsRequest{Against: workspace.AgainstUpstream}); !errors.Is(err, workspace.ErrNothingToCompare) {
		t.Errorf("no upstream: %v", err)
	}
}
