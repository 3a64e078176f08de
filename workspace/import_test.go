package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/workspace"
)

// What a record is made of again when it was lost.
func TestIdentify(t *testing.T) {
	t.Parallel()
	eachLayout(t, testIdentify)
}

func testIdentify(t *testing.T, lay func(testing.TB, workspace.Workspace) workspace.Workspace) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want func(w *workspace.Workspace) // beside as it was, unless err
		err  error
	}{
		{"as it was made", func(t *testing.T, w workspace.Workspace) {}, func(w *workspace.Workspace) {}, nil},
		{"worked in", func(t *testing.T, w workspace.Workspace) {
			commit(t, w.Root, "new", "x")
			write(t, w.Root+"/other", "x")
		}, func(w *workspace.Workspace) {}, nil},
		{"on another branch", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "switch", "-qc", "mine")
		}, func(w *workspace.Workspace) {}, nil},
		{"detached", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Root, "switch", "-q", "--detach")
		}, func(w *workspace.Workspace) {}, nil},
		{"without reflogs", func(t *testing.T, w workspace.Workspace) {
			remove(t, w.GitDir+"/logs/refs/heads/middleman")
		}, func(w *workspace.Workspace) { w.BaseCommit, w.OwnBranch = "", false }, nil},
		{"half deleted", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Root, filepath.Dir(w.Root)+"/.deleting-"+w.ID)
		}, func(w *workspace.Workspace) {}, nil},
		{"unlocked", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Repository, "worktree", "unlock", w.Root)
		}, nil, workspace.ErrUnknown},
		{"half made", func(t *testing.T, w workspace.Workspace) {
			remove(t, w.GitDir+"/worktrees/"+w.ID+"/index")
		}, nil, workspace.ErrUnknown},
		{"another's id", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/worktrees/"+w.ID+"/locked", "middleman workspace w1\n")
		}, nil, workspace.ErrUnknown},
		{"entry without a reason", func(t *testing.T, w workspace.Workspace) {
			write(t, w.GitDir+"/worktrees/"+w.ID+"/locked", "")
		}, nil, workspace.ErrUnknown},
		{"repository gone", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Repository, w.Repository+".moved")
		}, nil, workspace.ErrUnknown},
		{"a planted repository", func(t *testing.T, w workspace.Workspace) {
			other := newRepo(t)
			write(t, w.Root+"/.git", "gitdir: "+other+"/.git/worktrees/"+w.ID+"\n")
			write(t, other+"/.git/worktrees/"+w.ID+"/locked", "middleman workspace "+w.ID+"\n")
		}, nil, workspace.ErrUnknown},
		{"gone", func(t *testing.T, w workspace.Workspace) { remove(t, w.Root) }, nil, workspace.ErrMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			was := lay(t, create(t, m, request(newRepo(t), terminal.NewID("w"))))
			tc.do(t, was)
			got, err := m.Identify(t.Context(), was.ID)
			if tc.err != nil {
				if !errors.Is(err, tc.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			want := was
			want.Base, want.Subdir = "", ""
			tc.want(&want)
			if err != nil || got.CreatedAt.Sub(was.CreatedAt).Abs() > 1e10 {
				t.Errorf("%v, made %s", err, got.CreatedAt)
			}
			got.CreatedAt, want.CreatedAt = was.CreatedAt, was.CreatedAt
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Worktrees that the user has made become workspaces in place.
func TestCandidates(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	foreign, _ := newManager(t)
	repo := newRepo(t)
	own := create(t, m, request(repo, terminal.NewID("w")))
	theirs := request(repo, terminal.NewID("w"))
	theirs.Name = "theirs"
	other := create(t, foreign, theirs)
	runGit(t, repo, "worktree", "add", "-q", "-b", "feature/login", repo+".feature")
	runGit(t, repo, "worktree", "add", "-q", "--detach", repo+".Detached")
	runGit(t, repo, "worktree", "add", "-q", "--detach", repo+".gone")
	remove(t, repo+".gone")
	lost := request(repo, terminal.NewID("w"))
	lost.Name = "lost"
	deleted := create(t, m, lost)
	write(t, deleted.Root+"/new", "work")
	discard(t, m, deleted)
	theirs.ID, theirs.Name = terminal.NewID("w"), "theirs-too"
	foreigner := create(t, foreign, theirs)
	write(t, foreigner.Root+"/new", "work")
	discard(t, foreign, foreigner)
	before := state(t, repo, base)

	list, kept, passed, err := m.Candidates(t.Context(), repo+".feature")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range list {
		got = append(got, strings.Join([]string{w.ID, w.Name, string(w.Mode), w.Root, w.Branch, w.Repository, w.GitDir}, " "))
	}
	slices.Sort(got)
	want := []string{
		" feature-login in-place " + repo + ".feature feature/login " + repo + " " + repo + "/.git",
		" repo.detached in-place " + repo + ".Detached  " + repo + " " + repo + "/.git",
		own.ID + " fix worktree " + own.Root + " middleman/fix " + repo + " " + repo + "/.git",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(kept) != 1 || kept[0].ID != deleted.ID || kept[0].Name != "lost" || kept[0].Root != deleted.Root || kept[0].Branch != deleted.Branch {
		t.Errorf("kept: %+v", kept)
	}
	var paths []string
	for _, p := range passed {
		paths = append(paths, p.Path)
	}
	if slices.Sort(paths); !slices.Equal(paths, sorted(other.Root, repo+".gone", "refs/middleman/trash/"+foreigner.ID)) {
		t.Errorf("passed: %+v", passed)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("changed: %s", firstDifference(before, after))
	}
	for _, w := range list {
		if w.Mode != workspace.ModeInPlace {
			continue
		}
		if _, err := m.Delete(t.Context(), w, true, nil); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(w.Root); err != nil {
			t.Errorf("what is the user's was deleted: %v", err)
		}
	}
}

func sorted(list ...string) []string {
	slices.Sort(list)
	return list
}

func TestImportable(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, terminal.NewID("w")))
	notes := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "notes", Mode: workspace.ModeDirectory})
	aside := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "aside", Mode: workspace.ModeDirectory})
	write(t, aside.Root+"/x", "x")
	discard(t, m, aside)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	bare := newRepo(t) + ".bare"
	runGit(t, repo, "clone", "-q", "--bare", repo, bare)
	for _, tc := range []struct {
		name, path string
		want       string
		err        error
	}{
		{"ours", w.Root, w.ID + " worktree " + w.Root + "  ready", nil},
		{"ours, a directory", notes.Root, notes.ID + " directory " + notes.Root + "  ready", nil},
		{"kept aside", base + "/.kept-" + aside.ID, aside.ID + " directory " + aside.Root + "  deleted", nil},
		{"the main checkout", repo, " in-place " + repo + "  ready", nil},
		{"through a link, in a sub-directory", link + "/sub/deep", " in-place " + repo + " sub/deep ready", nil},
		{"no repository", t.TempDir(), "", workspace.ErrNotRepository},
		{"a bare repository", bare, "", workspace.ErrNotRepository},
		{"trash", base + "/.trash-x", "", workspace.ErrBadRequest},
		{"not there", repo + "/none", "", workspace.ErrBadRequest},
		{"relative", "repo", "", workspace.ErrBadRequest},
	} {
		got, err := m.Importable(t.Context(), tc.path)
		line := strings.Join([]string{got.ID, string(got.Mode), got.Root, got.Subdir, string(got.State)}, " ")
		if !errors.Is(err, tc.err) || err == nil && line != tc.want {
			t.Errorf("%s: %q, %v", tc.name, line, err)
		}
	}
}

// What has a record, or is not proved to be ours, is not found again.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	known, lost := create(t, m, request(repo, terminal.NewID("w"))), create(t, m, request(repo, terminal.NewID("w")))
	write(t, base+"/notes/x", "x")
	write(t, base+"/.trash-x/x", "x")
	list, err := m.Unrecorded(t.Context(), recordedAs(records(known)))
	if err != nil || len(list) != 1 || list[0].ID != lost.ID || list[0].Name != "fix-2" {
		t.Errorf("%+v, %v", list, err)
	}
	remove(t, base)
	if list, err := m.Unrecorded(t.Context(), recordedAs(records(known))); err != nil || len(list) != 0 {
		t.Errorf("without a base: %+v, %v", list, err)
	}
}

// A directory in place knows its repository, and is not deleted for that.
func TestInPlaceKnowsItsRepository(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo, plain := newRepo(t), t.TempDir()
	before := state(t, repo, base)
	for _, tc := range []struct{ dir, repository, branch string }{
		{repo, repo, "main"}, {repo + "/sub", repo, "main"}, {plain, "", ""},
	} {
		w := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "here", Mode: workspace.ModeInPlace, Directory: tc.dir})
		if w.Root != tc.dir || w.Repository != tc.repository || w.Branch != tc.branch || (w.GitDir == "") != (tc.repository == "") {
			t.Errorf("%s: %+v", tc.dir, w)
		}
		if loss, err := m.Delete(t.Context(), w, true, nil); err != nil || !loss.Empty() {
			t.Errorf("%s: %+v, %v", tc.dir, loss, err)
		}
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("changed: %s", firstDifference(before, after))
	}
}
