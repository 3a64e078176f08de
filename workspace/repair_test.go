package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/workspace"
)

// repairCase is what was moved, and what must be found.
type repairCase struct {
	name string
	// move returns what Repair is told, and the base by then.
	move func(t *testing.T, w workspace.Workspace, base string) (repository, baseNow string)
	want func(w *workspace.Workspace, told, base string)
	err  error
}

var repairCases = []repairCase{
	{"nothing", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		return "", base
	}, func(w *workspace.Workspace, told, base string) {}, nil},
	{"the repository", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		return w.Repository + " moved", base
	}, movedRepository, nil},
	{"the repository, told from below", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		return w.Repository + " moved/sub", base
	}, func(w *workspace.Workspace, told, base string) { movedRepository(w, filepath.Dir(told), base) }, nil},
	{"the repository, not told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		return "", base
	}, nil, workspace.ErrMoved},
	{"the repository, as git was told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		runGit(t, w.Repository+" moved", "worktree", "repair")
		return "", base
	}, func(w *workspace.Workspace, told, base string) { movedRepository(w, w.Repository+" moved", base) }, nil},
	{"another repository is told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		return newRepo(t), base
	}, nil, workspace.ErrUnknown},
	{"a clone is told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		runGit(t, w.Repository, "clone", "-q", w.Repository, w.Repository+".clone")
		runGit(t, w.Repository+".clone", "branch", "-q", w.Branch)
		return w.Repository + ".clone", base
	}, nil, workspace.ErrUnknown},
	{"the branch is gone there", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		runGit(t, w.Repository+" moved", "update-ref", "-d", "refs/heads/"+w.Branch)
		return w.Repository + " moved", base
	}, nil, workspace.ErrUnknown},
	{"no repository is told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		return base, base
	}, nil, workspace.ErrNotRepository},
	{"the base", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, filepath.Dir(base), filepath.Dir(base)+" moved")
		return "", filepath.Dir(base) + " moved/work"
	}, movedBase, nil},
	{"the base and the repository", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		rename(t, filepath.Dir(base), filepath.Dir(base)+" moved")
		return w.Repository + " moved", filepath.Dir(base) + " moved/work"
	}, func(w *workspace.Workspace, told, base string) {
		movedRepository(w, told, base)
		movedBase(w, told, base)
	}, nil},
	{"the worktree, with git", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		runGit(t, w.Repository, "worktree", "move", "-f", "-f", w.Root, w.Repository+".mine")
		return "", base
	}, func(w *workspace.Workspace, told, base string) {
		w.Mode, w.Root = workspace.ModeInPlace, w.Repository+".mine"
	}, nil},
	{"the worktree, with git, and unlocked", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		runGit(t, w.Repository, "worktree", "unlock", w.Root)
		runGit(t, w.Repository, "worktree", "move", w.Root, w.Repository+".mine")
		return "", base
	}, func(w *workspace.Workspace, told, base string) {
		w.Mode, w.Root = workspace.ModeInPlace, w.Repository+".mine"
	}, nil},
	{"the worktree, without git", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Root, w.Repository+".mine")
		return w.Repository + ".mine", base
	}, func(w *workspace.Workspace, told, base string) {
		w.Mode, w.Root = workspace.ModeInPlace, told
	}, nil},
	{"the directory is gone, and another worktree is told", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		remove(t, w.Root)
		runGit(t, w.Repository, "worktree", "add", "-q", "--detach", w.Repository+".other")
		return w.Repository + ".other", base
	}, nil, workspace.ErrMissing},
	{"what .git leads to", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		write(t, w.Root+"/.git", "gitdir: /nowhere/worktrees/"+w.ID+"\n")
		return "", base
	}, func(w *workspace.Workspace, told, base string) {}, nil},
	{"a repository is where .git was", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		rename(t, w.Repository, w.Repository+" moved")
		remove(t, w.Root+"/.git")
		write(t, w.Root+"/.git/HEAD", "ref: refs/heads/main\n")
		return w.Repository + " moved", base
	}, nil, workspace.ErrUnknown},
	{"the directory is gone", func(t *testing.T, w workspace.Workspace, base string) (string, string) {
		remove(t, w.Root)
		return "", base
	}, nil, workspace.ErrMissing},
}

func movedRepository(w *workspace.Workspace, told, _ string) {
	w.Repository, w.GitDir = told, told+"/.git"
}

func movedBase(w *workspace.Workspace, _, base string) { w.Root = filepath.Join(base, "repo", w.Name) }

func TestRepair(t *testing.T) {
	t.Parallel()
	for _, tc := range repairCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := create(t, m, request(newRepo(t), terminal.NewID("w")))
			write(t, w.Root+"/new", "work")
			told, base := tc.move(t, w, base)
			m = workspace.New(workspace.Options{Base: base})
			repo := w.Repository
			if _, err := os.Stat(repo); err != nil {
				repo += " moved"
			}
			before := state(t, repo, base)

			dry, found, err := m.Repair(t.Context(), w, told, true)
			if !errors.Is(err, tc.err) || err != nil && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v", err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("a dry run changed: %s", firstDifference(before, after))
			}
			got, really, err := m.Repair(t.Context(), w, told, false)
			if tc.err != nil {
				if after := state(t, repo, base); after != before || !errors.Is(err, tc.err) {
					t.Errorf("%v, changed: %s", err, firstDifference(before, after))
				}
				return
			}
			want := w
			tc.want(&want, told, base)
			if err != nil || got != want || dry != want || strings.Join(found, "\n") != strings.Join(really, "\n") {
				t.Fatalf("%v\ngot  %+v\ndry  %+v\nwant %+v", err, got, dry, want)
			}
			if status := runGit(t, got.Root, "status", "--porcelain"); status != "?? new" {
				t.Errorf("status: %s", status)
			}
			if loss, err := m.Inspect(t.Context(), got); err != nil || got.Mode == workspace.ModeWorktree && len(loss.Untracked) != 1 {
				t.Errorf("inspect: %+v, %v", loss, err)
			}
			again, found, err := m.Repair(t.Context(), got, "", false)
			if err != nil || again != got || len(found) != 0 {
				t.Errorf("once more: %+v, %q, %v", again, found, err)
			}
		})
	}
}

func TestRepairOtherModes(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	notes := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "notes", Mode: workspace.ModeDirectory})
	here := create(t, m, workspace.CreateRequest{ID: terminal.NewID("w"), Name: "here", Mode: workspace.ModeInPlace, Directory: newRepo(t)})
	rename(t, base, base+".moved")
	m = workspace.New(workspace.Options{Base: base + ".moved"})
	if got, found, err := m.Repair(t.Context(), notes, "", false); err != nil || got.Root != base+".moved/"+notes.ID || len(found) != 1 {
		t.Errorf("directory: %+v, %q, %v", got, found, err)
	}
	if got, found, err := m.Repair(t.Context(), here, "", false); err != nil || got != here || len(found) != 0 {
		t.Errorf("in place: %+v, %q, %v", got, found, err)
	}
	remove(t, here.Root)
	if _, _, err := m.Repair(t.Context(), here, "", false); !errors.Is(err, workspace.ErrMissing) {
		t.Errorf("in place, gone: %v", err)
	}
}

// A worktree of the user's whose repository was moved is mended only for the
// repository that has it.
func TestRepairImported(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo, other := newRepo(t), newRepo(t)
	tree := repo + ".tree"
	runGit(t, repo, "worktree", "add", "-q", "-b", "mine", tree)
	runGit(t, other, "worktree", "add", "-q", "-b", "mine", other+".tree")
	w, err := m.Importable(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := m.Where(w); err != nil || !x.Sound() {
		t.Errorf("before: %+v, %v", x, err)
	}
	mark := m.Mark(w, "")
	moved := repo + " moved"
	rename(t, repo, moved)
	if x, err := m.Where(w); err != nil || x != (workspace.Whereabouts{NoRepository: true}) || x.Trouble(w) == "" {
		t.Errorf("moved: %+v, %v", x, err)
	}
	if m.Mark(w, "") == mark {
		t.Error("the mark of a status is the same though the repository is gone")
	}
	for _, tc := range []struct {
		told string
		want error
	}{{"", workspace.ErrMoved}, {other, workspace.ErrUnknown}, {other + ".tree", workspace.ErrUnknown}, {t.TempDir(), workspace.ErrNotRepository}} {
		if got, found, err := m.Repair(t.Context(), w, tc.told, false); !errors.Is(err, tc.want) || got != w || len(found) != 0 {
			t.Errorf("told %q: %+v, %q, %v", tc.told, got, found, err)
		}
	}
	want := w
	movedRepository(&want, moved, "")
	for _, dryRun := range []bool{true, false} {
		if got, found, err := m.Repair(t.Context(), w, moved, dryRun); err != nil || got != want || len(found) != 1 {
			t.Errorf("dry run %v: %+v, %q, %v", dryRun, got, found, err)
		}
		if x, err := m.Where(w); err != nil || !x.NoRepository {
			t.Errorf("dry run %v: the record before is at %+v, %v", dryRun, x, err)
		}
	}
	if got := runGit(t, tree, "status", "--porcelain", "--branch"); got != "## mine" {
		t.Errorf("status %q", got)
	}
}

// What is kept of a deleted workspace is found again, and comes back, where
// base and repository are by then.
func TestRestoreAfterAMove(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	w := create(t, m, request(newRepo(t), terminal.NewID("w")))
	write(t, w.Root+"/new", "work")
	commit(t, w.Root, "committed", "x")
	discard(t, m, w)
	rename(t, filepath.Dir(base), filepath.Dir(base)+" moved")
	rename(t, w.Repository, w.Repository+" moved")
	m = workspace.New(workspace.Options{Base: filepath.Dir(base) + " moved/work"})
	if _, err := m.RepairDeleted(t.Context(), w, newRepo(t)); !errors.Is(err, workspace.ErrNoSnapshot) {
		t.Errorf("in another repository: %v", err)
	}
	found, err := m.RepairDeleted(t.Context(), w, w.Repository+" moved")
	if err != nil {
		t.Fatal(err)
	}
	back, notes, err := m.Restore(t.Context(), found, nil)
	if err != nil || len(notes) != 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	if status := runGit(t, back.Root, "status", "--porcelain", "--branch"); status != "## "+w.Branch+"\n?? new" {
		t.Errorf("status: %s", status)
	}
	if list := runGit(t, back.Repository, "worktree", "list"); !strings.Contains(list, back.Root) {
		t.Errorf("worktrees: %s", list)
	}
}
