package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"middleman/workspace"
)

func TestCreateWorktree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	var stages []string
	w, err := m.Create(context.Background(), request(repo, "w1"), func(s workspace.Stage) {
		stages = append(stages, s.Name+" "+s.State)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"validate running", "validate done", "resolve running", "resolve done", "add running", "add done", "checkout running", "checkout done", "ready done"}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
	if w.Root != filepath.Join(base, "repo", "fix") || w.Repository != repo || w.GitDir != filepath.Join(repo, ".git") ||
		w.Branch != "middleman/fix" || w.Base != "main" || w.BaseCommit != runGit(t, repo, "rev-parse", "main") || w.State != workspace.StateReady {
		t.Errorf("record is %+v", w)
	}
	if got := runGit(t, w.Root, "symbolic-ref", "HEAD"); got != "refs/heads/middleman/fix" {
		t.Errorf("HEAD is %s", got)
	}
	if got := runGit(t, w.Root, "status", "--porcelain"); got != "" {
		t.Errorf("status is %s", got)
	}
	if got := runGit(t, repo, "worktree", "list", "--porcelain"); !strings.Contains(got, "locked middleman workspace w1") {
		t.Errorf("not locked with our reason:\n%s", got)
	}
}

func TestCreateBase(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	first := runGit(t, repo, "rev-parse", "HEAD~1")
	runGit(t, repo, "branch", "old", first)
	runGit(t, repo, "tag", "-a", "-m", "Tagged", "v1", first)
	runGit(t, repo, "branch", "both", first)
	runGit(t, repo, "tag", "both", "HEAD")
	runGit(t, repo, "update-ref", "refs/remotes/origin/there", first)
	m, _ := newManager(t)
	for i, tc := range []struct{ name, base, want string }{
		{"branch", "old", first},
		{"annotated tag", "v1", first},
		{"commit", first, first},
		{"short commit", first[:8], first},
		{"relative", "HEAD~1", first},
		{"branch before a tag of its name", "both", first},
		{"none", "", runGit(t, repo, "rev-parse", "HEAD")},
		{"remote branch", "origin/there", first},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(repo, "w"+string(rune('a'+i)))
			r.Base = tc.base
			w := create(t, m, r)
			if got := runGit(t, w.Root, "rev-parse", "HEAD"); got != tc.want || w.BaseCommit != tc.want {
				t.Errorf("HEAD %s, recorded %s, want %s", got, w.BaseCommit, tc.want)
			}
		})
	}
}

func TestCreateFromDetachedHead(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	runGit(t, repo, "checkout", "-q", "--detach", "HEAD~1")
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	if w.Base != "HEAD" || w.BaseCommit != runGit(t, repo, "rev-parse", "HEAD") {
		t.Errorf("base %s at %s", w.Base, w.BaseCommit)
	}
}

func TestCreateInSubdirectory(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	write(t, filepath.Join(repo, "sub/only-here/x"), "x")
	m, _ := newManager(t)
	for i, tc := range []struct{ name, dir, want string }{
		{"top", "", ""},
		{"same", "sub/deep", "sub/deep"},
		{"not in the base", "sub/only-here", "sub"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(filepath.Join(repo, tc.dir), "w"+string(rune('a'+i)))
			if w := create(t, m, r); w.Subdir != tc.want {
				t.Errorf("Subdir %q, want %q", w.Subdir, tc.want)
			}
		})
	}
}

func TestCreateFromWorktree(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	first := create(t, m, request(repo, "w1"))
	commit(t, first.Root, "c.txt", "three\n")
	second := create(t, m, request(first.Root, "w2"))
	if second.Repository != repo || second.GitDir != first.GitDir || second.Branch != "middleman/fix-2" ||
		second.BaseCommit != runGit(t, first.Root, "rev-parse", "HEAD") {
		t.Errorf("record is %+v", second)
	}
}

func TestCreateOddPaths(t *testing.T) {
	t.Parallel()
	plain := newRepo(t)
	for _, name := range []string{"with space", "ünï 日本", "-dash", "quo\"te"} {
		t.Run(name, func(t *testing.T) {
			repo := filepath.Join(filepath.Dir(plain), name)
			runGit(t, "/", "clone", "-q", plain, repo)
			m, _ := newManager(t)
			w := create(t, m, request(repo, "w1"))
			if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	repo, plain, unborn := newRepo(t), t.TempDir(), t.TempDir()
	runGit(t, unborn, "init", "-q")
	bare := filepath.Join(t.TempDir(), "bare.git")
	runGit(t, "/", "clone", "-q", "--bare", repo, bare)
	runGit(t, repo, "branch", "taken")
	runGit(t, repo, "branch", "below/one")
	for _, tc := range []struct {
		name string
		edit func(*workspace.CreateRequest)
		want error
		say  string // the error names it
	}{
		{"not a repository", func(r *workspace.CreateRequest) { r.Directory = plain }, workspace.ErrNotRepository, plain},
		{"below a bare repository", func(r *workspace.CreateRequest) { r.Directory = bare + "/refs" }, workspace.ErrNotRepository, bare},
		{"git directory", func(r *workspace.CreateRequest) { r.Directory = filepath.Join(repo, ".git") }, workspace.ErrNotRepository, repo},
		{"no commits", func(r *workspace.CreateRequest) { r.Directory = unborn }, workspace.ErrNoCommits, unborn},
		{"no such directory", func(r *workspace.CreateRequest) { r.Directory = plain + "/none" }, workspace.ErrBadRequest, plain + "/none"},
		{"a file", func(r *workspace.CreateRequest) { r.Directory = repo + "/a.txt" }, workspace.ErrBadRequest, "a.txt"},
		{"relative directory", func(r *workspace.CreateRequest) { r.Directory = "." }, workspace.ErrBadRequest, "."},
		{"bad base", func(r *workspace.CreateRequest) { r.Base = "nonsense" }, workspace.ErrBadBase, "nonsense"},
		{"base like an option", func(r *workspace.CreateRequest) { r.Base = "--all" }, workspace.ErrBadBase, "--all"},
		{"base is a tree", func(r *workspace.CreateRequest) { r.Base = "HEAD:sub" }, workspace.ErrBadBase, "HEAD:sub"},
		{"base is a range", func(r *workspace.CreateRequest) { r.Base = "HEAD~1..HEAD" }, workspace.ErrBadBase, ".."},
		{"base with a newline", func(r *workspace.CreateRequest) { r.Base = "a\nb" }, workspace.ErrBadBase, `"a\nb"`},
		{"branch that is checked out", func(r *workspace.CreateRequest) { r.Branch = "main" }, workspace.ErrBranchTaken, "branch main is checked out in " + repo},
		{"a base for a branch that exists", func(r *workspace.CreateRequest) { r.Branch, r.Base = "taken", "main" }, workspace.ErrBranchTaken, "without --base"},
		{"branch with branches below", func(r *workspace.CreateRequest) { r.Branch = "below" }, workspace.ErrBranchTaken, "below"},
		{"branch like an option", func(r *workspace.CreateRequest) { r.Branch = "-x" }, workspace.ErrBadName, "-x"},
		{"branch that git expands", func(r *workspace.CreateRequest) { r.Branch = "@{-1}" }, workspace.ErrBadName, "@{-1}"},
		{"branch HEAD", func(r *workspace.CreateRequest) { r.Branch = "HEAD" }, workspace.ErrBadName, "HEAD"},
		{"branch out of refs/heads", func(r *workspace.CreateRequest) { r.Branch = "../../config" }, workspace.ErrBadName, ".."},
		{"name that is no slug", func(r *workspace.CreateRequest) { r.Name = "Fix" }, workspace.ErrBadName, "fix"},
		{"name that escapes", func(r *workspace.CreateRequest) { r.Name = "../x" }, workspace.ErrBadName, "../x"},
		{"id that escapes", func(r *workspace.CreateRequest) { r.ID = "../x" }, workspace.ErrEscapes, "../x"},
		{"id with a slash", func(r *workspace.CreateRequest) { r.ID = "a/b" }, workspace.ErrEscapes, "a/b"},
		{"no id", func(r *workspace.CreateRequest) { r.ID = "" }, workspace.ErrEscapes, ""},
		{"no mode", func(r *workspace.CreateRequest) { r.Mode = "" }, workspace.ErrBadRequest, "mode"},
		{"a base for a directory", func(r *workspace.CreateRequest) { r.Mode, r.Base = workspace.ModeDirectory, "main" }, workspace.ErrBadRequest, "directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, base := newManager(t)
			before := state(t, repo, base)
			r := request(repo, "w1")
			tc.edit(&r)
			_, err := m.Create(context.Background(), r, nil)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.say) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is not one line that says %q: %v", tc.say, err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Sixteen creations of one name at once: sixteen branches, each worktree on
// its own.
func TestCreateRace(t *testing.T) {
	t.Parallel()
	const racers = 16
	repo := newRepo(t)
	m, _ := newManager(t)
	made := make([]workspace.Workspace, racers)
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			made[i], errs[i] = m.Create(context.Background(), request(repo, "w"+string(rune('a'+i))), nil)
		})
	}
	wg.Wait()
	branches := map[string]bool{}
	for i, w := range made {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		branches[w.Branch] = true
		if got := runGit(t, w.Root, "symbolic-ref", "--short", "HEAD"); got != w.Branch {
			t.Errorf("%s is on %s, recorded %s", w.ID, got, w.Branch)
		}
	}
	if len(branches) != racers || !branches["middleman/fix"] || !branches["middleman/fix-16"] {
		t.Errorf("branches %v", branches)
	}
}

// Of the racers for a branch that was asked for by name, one wins and the
// others leave nothing.
func TestCreateRaceForOneBranch(t *testing.T) {
	t.Parallel()
	const racers = 8
	repo := newRepo(t)
	m, base := newManager(t)
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			r := request(repo, "w"+string(rune('a'+i)))
			r.Branch = "feature"
			_, errs[i] = m.Create(context.Background(), r, nil)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, workspace.ErrBranchTaken) {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	trees := strings.Count(runGit(t, repo, "worktree", "list"), "\n")
	if won != 1 || len(entries) != 1 || trees != 1 {
		t.Errorf("%d won, %d directories, %d worktrees", won, len(entries), trees)
	}
}

// A checkout that fails half-way leaves nothing either.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.bad filter=bad\n")
	commit(t, repo, "x.bad", "x\n")
	runGit(t, repo, "config", "filter.bad.smudge", "false")
	runGit(t, repo, "config", "filter.bad.required", "true")
	m, base := newManager(t)
	before := state(t, repo, base)
	r := request(repo, "w1")
	r.Filters = true
	_, err := m.Create(context.Background(), r, nil)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}

func TestCreateDirectory(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	ctx := context.Background()
	r := workspace.CreateRequest{ID: "w1", Name: "notes", Mode: workspace.ModeDirectory}
	w := create(t, m, r)
	if entries, err := os.ReadDir(w.Root); err != nil || len(entries) != 0 || w.Root != filepath.Join(base, "w1") {
		t.Fatalf("%s: %v, %v", w.Root, entries, err)
	}
	if _, err := m.Create(ctx, r, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second of that id: %v", err)
	}
	write(t, filepath.Join(w.Root, "in/side"), "x")
	runGit(t, "/", "init", "-q", filepath.Join(w.Root, "repo"))
	loss, err := m.Delete(ctx, w, false, nil)
	if refused, ok := errors.AsType[*workspace.WorkError](err); !ok || !slices.Equal(refused.Loss.Untracked, []string{"in/side", "repo/.git"}) {
		t.Fatalf("%+v, %v", loss, err)
	}
	if loss, err := m.Delete(ctx, w, true, nil); err != nil || !loss.Restorable {
		t.Fatal(loss, err)
	}
	if _, _, err := m.Restore(ctx, w, nil); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(w.Root, "in/side")); err != nil || string(content) != "x" {
		t.Errorf("restored: %q, %v", content, err)
	}
	if err := os.RemoveAll(w.Root); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestCreateInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine"), "x")
	m, base := newManager(t)
	w := create(t, m, workspace.CreateRequest{ID: "w1", Name: "here", Mode: workspace.ModeInPlace, Directory: dir})
	if w.Root != dir {
		t.Errorf("root %s", w.Root)
	}
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(base); !os.IsNotExist(err) {
		t.Errorf("the base was made: %v", err)
	}
}
