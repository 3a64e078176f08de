package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/workspace"
)

// recordedAs reads records that do not change.
func recordedAs(r workspace.Records) workspace.Recorded {
	return func(context.Context) (workspace.Records, error) { return r, nil }
}

// described is what was found, a line each, without the directories that
// differ from test to test.
func described(list []workspace.Leftover, names ...string) []string {
	lines := []string{}
	for _, l := range list {
		line := fmt.Sprintf("%s %s %t", l.Kind, l.What, l.Prunable)
		lines = append(lines, strings.NewReplacer(names...).Replace(line))
	}
	slices.Sort(lines)
	return lines
}

// oldBranch makes a branch as a creation does, an hour ago.
func oldBranch(t testing.TB, repo, branch, id, commit string) {
	t.Helper()
	cmd := exec.Command("git", "update-ref", "--create-reflog", "-m", "middleman: workspace "+id, "refs/heads/"+branch, commit, "")
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// leftoverCase is what is left, and what must come of it.
type leftoverCase struct {
	name string
	// make leaves something of w, which is not recorded, and returns the
	// records beside one workspace that is.
	make func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records
	want []string // $W is the id, $D its directory, $G what holds that, $R its repository's git directory
	gone bool     // a prune ends in how it was before w was made
}

func records(list ...workspace.Workspace) workspace.Records {
	return workspace.Records{Workspaces: list}
}

var leftoverCases = []leftoverCase{
	{"clean directory", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		return workspace.Records{}
	}, []string{"directory $D true"}, true},
	{"dirty directory", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		write(t, w.Root+"/new", "work")
		return workspace.Records{}
	}, []string{"directory $D false"}, false},
	{"directory with a commit", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		commit(t, w.Root, "new", "work")
		return workspace.Records{}
	}, []string{"directory $D false"}, false},
	{"directory in which a session runs", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		return workspace.Records{Busy: map[string]string{w.ID: "a session runs in it"}}
	}, []string{"directory $D false"}, false},
	{"sessions cannot be asked", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		return workspace.Records{Unsure: errors.New("no answer")}
	}, []string{"directory $D false"}, false},
	{"directory of a creation in progress", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		w.State = workspace.StateCreating
		return records(w)
	}, []string{}, false},
	{"directory that is not locked as ours", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		runGit(t, w.Repository, "worktree", "unlock", w.Root)
		return workspace.Records{}
	}, []string{"directory $D false"}, false},
	{"directory whose repository is gone", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		rename(t, w.Repository, w.Repository+".moved")
		return workspace.Records{}
	}, []string{"directory $D false"}, false},
	{"directory whose .git leads to another's entry", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		runGit(t, w.Repository, "worktree", "add", "-q", "--detach", w.Repository+".other")
		write(t, w.Root+"/.git", "gitdir: "+w.GitDir+"/worktrees/repo.other\n")
		return workspace.Records{}
	}, []string{"directory $D false"}, false},
	{"deleting, looked at once", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		rename(t, w.Root, filepath.Dir(w.Root)+"/.deleting-"+w.ID)
		return workspace.Records{}
	}, []string{"deleting $G/.deleting-$W true"}, true},
	{"deleting, with work", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		write(t, w.Root+"/new", "work")
		rename(t, w.Root, filepath.Dir(w.Root)+"/.deleting-"+w.ID)
		return workspace.Records{}
	}, []string{"deleting $G/.deleting-$W false"}, false},
	{"entry without directory", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		remove(t, w.Root)
		return workspace.Records{}
	}, []string{"entry $R/worktrees/$W true"}, true},
	{"entry without directory, with a commit", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		commit(t, w.Root, "new", "work")
		remove(t, w.Root)
		return workspace.Records{}
	}, []string{"entry $R/worktrees/$W false"}, false},
	{"entry of another base", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		remove(t, w.Root)
		write(t, w.GitDir+"/worktrees/"+w.ID+"/gitdir", "/elsewhere/"+w.ID+"/.git\n")
		return workspace.Records{}
	}, []string{}, false},
	{"trash beside its entry", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		rename(t, w.Root, filepath.Dir(w.Root)+"/.trash-"+w.ID)
		return workspace.Records{}
	}, []string{"entry $R/worktrees/$W true", "trash $G/.trash-$W true"}, true},
	{"kept", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		rename(t, w.Root, filepath.Dir(w.Root)+"/.kept-"+w.ID)
		return workspace.Records{}
	}, []string{"kept $G/.kept-$W false"}, false},
	{"restoring without a snapshot", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		rename(t, w.Root, filepath.Dir(w.Root)+"/.restoring-"+w.ID)
		return workspace.Records{}
	}, []string{"entry $R/worktrees/$W true", "restoring $G/.restoring-$W false"}, false},
	{"snapshot, not recorded", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		write(t, w.Root+"/new", "work")
		discard(t, m, w)
		return workspace.Records{}
	}, []string{"snapshot refs/middleman/trash/$W false"}, false},
	{"snapshot, recorded, and what a restore was putting together", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		write(t, w.Root+"/new", "work")
		discard(t, m, w)
		write(t, filepath.Dir(w.Root)+"/.restoring-"+w.ID+"/new", "work")
		write(t, w.GitDir+"/middleman-restoring-"+w.ID+"/HEAD", "x")
		return workspace.Records{Deleted: []workspace.Workspace{w}}
	}, []string{"restoring $G/.restoring-$W true", "restoring $R/middleman-restoring-$W true"}, false},
	{"new objects of a delete that was killed", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		staged(t, w, time.Hour)
		return workspace.Records{}
	}, []string{"trash $R/objects/tmp_objdir-middleman-$W true"}, true},
	{"new objects of a delete that may run", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		staged(t, w, time.Minute)
		return workspace.Records{}
	}, []string{"trash $R/objects/tmp_objdir-middleman-$W false"}, true}, // but for the objects
	{"new objects that the next delete removes", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		staged(t, w, time.Hour)
		return records(w)
	}, []string{}, false},
	{"branch", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		oldBranch(t, w.Repository, "middleman/fix-2", w.ID, "main")
		return workspace.Records{}
	}, []string{"branch middleman/fix-2 true"}, true},
	{"branch with a commit", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		commit(t, w.Root, "new", "work")
		tip := runGit(t, w.Root, "rev-parse", "HEAD")
		discard(t, m, w)
		runGit(t, w.Repository, "update-ref", "-d", "refs/middleman/trash/"+w.ID)
		oldBranch(t, w.Repository, "middleman/fix-2", w.ID, tip)
		return workspace.Records{}
	}, []string{"branch middleman/fix-2 false"}, false},
	{"branches that are not left over", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		runGit(t, w.Repository, "branch", "middleman/mine", "main")
		oldBranch(t, w.Repository, "other/fix", w.ID, "main")
		oldBranch(t, w.Repository, "middleman/out", w.ID, "main")
		runGit(t, w.Repository, "worktree", "add", "-q", w.Repository+".out", "middleman/out")
		runGit(t, w.Repository, "update-ref", "--create-reflog", "-m", "middleman: workspace "+w.ID, "refs/heads/middleman/young", "main", "")
		oldBranch(t, w.Repository, "middleman/restorable", terminal.NewID("w"), "main")
		restorable := w
		restorable.Branch, restorable.ID = "middleman/restorable", terminal.NewID("w")
		return workspace.Records{Deleted: []workspace.Workspace{restorable}}
	}, []string{}, false},
	{"branches while one is being made", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		oldBranch(t, w.Repository, "middleman/fix-2", w.ID, "main")
		return records(workspace.Workspace{ID: terminal.NewID("w"), State: workspace.StateCreating})
	}, []string{}, false},
	{"a copy of a workspace that there is", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		if err := os.CopyFS(filepath.Dir(w.Root)+"/other-copy", os.DirFS(w.Root)); err != nil {
			t.Fatal(err)
		}
		return records(w)
	}, []string{"unknown $G/other-copy false"}, false},
	{"what is not ours", func(t *testing.T, m *workspace.Manager, w workspace.Workspace) workspace.Records {
		discard(t, m, w)
		write(t, filepath.Dir(w.Root)+"/Some Notes/x", "x")
		write(t, filepath.Dir(w.Root)+"/notes/x", "x")
		return workspace.Records{}
	}, []string{"directory $G/notes false", "unknown $G/Some Notes false"}, false},
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// staged makes new objects of a delete of w, as they were made so long ago.
func staged(t testing.TB, w workspace.Workspace, ago time.Duration) {
	t.Helper()
	dir := w.GitDir + "/objects/tmp_objdir-middleman-" + w.ID
	write(t, dir+"/41/tmp_obj_abcdef", "half")
	for _, path := range []string{dir + "/41/tmp_obj_abcdef", dir + "/41", dir} {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
}

// discard deletes a workspace with what is in it.
func discard(t testing.TB, m *workspace.Manager, w workspace.Workspace) {
	t.Helper()
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Fatal(err)
	}
}

// madeLeftover has the leftovers of a case, beside a workspace that is recorded.
func madeLeftover(t *testing.T, tc leftoverCase, lay func(testing.TB, workspace.Workspace) workspace.Workspace) (m *workspace.Manager, base, repo, before string, w workspace.Workspace, recorded workspace.Recorded) {
	t.Helper()
	repo = newRepo(t)
	m, base = newManager(t)
	other := request(repo, terminal.NewID("w"))
	other.Name = "other"
	live := create(t, m, other)
	before = state(t, repo, base)
	w = lay(t, create(t, m, request(repo, terminal.NewID("w"))))
	r := tc.make(t, m, w)
	r.Workspaces = append(r.Workspaces, live)
	return m, base, repo, before, w, recordedAs(r)
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	eachLayout(t, testLeftovers)
}

func testLeftovers(t *testing.T, lay func(testing.TB, workspace.Workspace) workspace.Workspace) {
	for _, tc := range leftoverCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base, repo, before, w, recorded := madeLeftover(t, tc, lay)
			found, err := m.Leftovers(t.Context(), recorded)
			if err != nil {
				t.Fatal(err)
			}
			got := described(found, w.Root, "$D", filepath.Dir(w.Root), "$G", w.ID, "$W", w.GitDir, "$R")
			if !slices.Equal(got, tc.want) {
				t.Errorf("found %q, want %q: %+v", got, tc.want, found)
			}
			for _, l := range found {
				_, _, err := m.Prune(t.Context(), l, recorded)
				if l.Prunable != (err == nil) {
					t.Errorf("prune %s: %v", l.What, err)
				}
				if _, err := os.Lstat(l.What); l.Kind == workspace.LeftoverTrash && l.Prunable != errors.Is(err, os.ErrNotExist) {
					t.Errorf("after its prune %s: %v", l.What, err)
				}
				if l.Why == "" || strings.Contains(l.Why, "\n") {
					t.Errorf("why: %q", l.Why)
				}
			}
			if _, err := os.Stat(repo); err != nil {
				return // the case has moved it away
			}
			if after := state(t, repo, base); (after == before) != tc.gone {
				t.Errorf("gone: want %t: %s", tc.gone, firstDifference(before, after))
			}
		})
	}
}

// Where git cannot answer nothing is removed, of whatever kind.
func TestPruneWithGitFailing(t *testing.T) { eachLayout(t, testPruneWithGitFailing) }

func testPruneWithGitFailing(t *testing.T, lay func(testing.TB, workspace.Workspace) workspace.Workspace) {
	bad := t.TempDir()
	write(t, bad+"/git", "#!/bin/sh\necho 'fatal: no' >&2\nexit 128\n")
	if err := os.Chmod(bad+"/git", 0o755); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	for _, tc := range leftoverCases {
		t.Run(tc.name, func(t *testing.T) {
			m, base, repo, _, _, recorded := madeLeftover(t, tc, lay)
			found, err := m.Leftovers(t.Context(), recorded)
			if err != nil {
				t.Fatal(err)
			}
			before := ""
			if _, err := os.Stat(repo); err == nil {
				before = state(t, repo, base)
			}
			for _, mode := range []string{"exit 128", "cancelled"} {
				ctx, cancel := context.WithCancel(t.Context())
				switch mode {
				case "exit 128":
					t.Setenv("PATH", bad+":"+path)
				case "cancelled":
					cancel()
				}
				blind, err := m.Leftovers(ctx, recorded)
				if mode == "cancelled" && err == nil {
					t.Error("cancelled, and no error")
				}
				for _, l := range append(blind, found...) {
					if l.Kind == workspace.LeftoverDirectory && l.Prunable && mode == "exit 128" && !slices.ContainsFunc(found, func(x workspace.Leftover) bool { return x.What == l.What }) {
						t.Errorf("%s: %+v", mode, l)
					}
					if _, _, err := m.Prune(ctx, l, recorded); err == nil {
						t.Errorf("%s: pruned %s", mode, l.What)
					}
				}
				cancel()
				t.Setenv("PATH", path)
			}
			if before != "" {
				if after := state(t, repo, base); after != before {
					t.Errorf("removed: %s", firstDifference(before, after))
				}
			}
		})
	}
}

// A base that is missing, or cannot be read, is not an empty one.
func TestWhere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace)
		want workspace.Whereabouts // $ is the parent of the base
		err  bool
	}{
		{"in its place", func(t *testing.T, w workspace.Workspace) {}, workspace.Whereabouts{}, false},
		{"directory gone", func(t *testing.T, w workspace.Workspace) { remove(t, w.Root) }, workspace.Whereabouts{Missing: true}, false},
		{"base gone", func(t *testing.T, w workspace.Workspace) { remove(t, baseOf(w)) }, workspace.Whereabouts{}, true},
		{"group gone", func(t *testing.T, w workspace.Workspace) { remove(t, filepath.Dir(w.Root)) }, workspace.Whereabouts{Missing: true}, false},
		{"group became a link", func(t *testing.T, w workspace.Workspace) {
			rename(t, filepath.Dir(w.Root), filepath.Dir(w.Root)+"x")
			os.Symlink("repox", filepath.Dir(w.Root))
		}, workspace.Whereabouts{}, true},
		{"base no directory", func(t *testing.T, w workspace.Workspace) {
			remove(t, baseOf(w))
			write(t, baseOf(w), "x")
		}, workspace.Whereabouts{}, true},
		{"a file in its place", func(t *testing.T, w workspace.Workspace) {
			remove(t, w.Root)
			write(t, w.Root, "x")
		}, workspace.Whereabouts{}, true},
		{"half deleted", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Root, filepath.Dir(w.Root)+"/.deleting-"+w.ID)
		}, workspace.Whereabouts{}, false},
		{"kept aside", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Root, filepath.Dir(w.Root)+"/.kept-"+w.ID)
		}, workspace.Whereabouts{}, true},
		{"repository gone", func(t *testing.T, w workspace.Workspace) {
			rename(t, w.Repository, w.Repository+".moved")
		}, workspace.Whereabouts{NoRepository: true}, false},
		{"moved with git", func(t *testing.T, w workspace.Workspace) {
			runGit(t, w.Repository, "worktree", "move", "-f", "-f", w.Root, filepath.Dir(baseOf(w))+"/moved")
		}, workspace.Whereabouts{Missing: true, Moved: "$/moved"}, false},
		{".git leads elsewhere", func(t *testing.T, w workspace.Workspace) {
			write(t, w.Root+"/.git", "gitdir: /nowhere/worktrees/x\n")
		}, workspace.Whereabouts{Astray: "/nowhere/worktrees/x"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := create(t, m, request(newRepo(t), terminal.NewID("w")))
			tc.do(t, w)
			got, err := m.Where(w)
			tc.want.Moved = strings.Replace(tc.want.Moved, "$", filepath.Dir(base), 1)
			if tc.err && err == nil || !tc.err && (err != nil || got != tc.want) {
				t.Errorf("%+v, %v", got, err)
			}
			if sound := got.Trouble(w) == ""; err == nil && sound != got.Sound() {
				t.Errorf("trouble %q", got.Trouble(w))
			}
		})
	}
}
