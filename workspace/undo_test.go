package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"middleman/workspace"
)

// recorded is what is known of a workspace before it is made.
func recorded(r workspace.CreateRequest) workspace.Workspace {
	return workspace.Workspace{ID: r.ID, Name: r.Name, Mode: r.Mode, Branch: r.Branch, Repository: r.Directory}
}

// What a creation has done when it is killed, and what Undo must make of it.
func TestUndo(t *testing.T) {
	t.Parallel()
	made := func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) workspace.Workspace {
		return create(t, m, r)
	}
	for _, tc := range []struct {
		name   string
		branch string
		do     func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest)
	}{
		{"nothing", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {}},
		{"whole", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) { made(t, m, r) }},
		{"whole, branch asked for", "mine", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) { made(t, m, r) }},
		{"branch alone", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {
			w := made(t, m, r)
			os.RemoveAll(w.Root)
			os.RemoveAll(w.GitDir + "/worktrees/w1")
		}},
		{"branch and directory", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {
			w := made(t, m, r)
			os.RemoveAll(w.Root)
			os.Mkdir(w.Root, 0o700)
			os.RemoveAll(w.GitDir + "/worktrees/w1")
		}},
		{"half checked out", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {
			w := made(t, m, r)
			os.Rename(w.GitDir+"/worktrees/w1/index", w.GitDir+"/worktrees/w1/index.lock")
			os.Remove(w.Root + "/a.txt")
		}},
		{"locked as initializing", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {
			w := made(t, m, r)
			write(t, w.GitDir+"/worktrees/w1/locked", "initializing")
			os.Remove(w.GitDir + "/worktrees/w1/index")
		}},
		{"half an entry", "", func(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) {
			w := made(t, m, r)
			for _, file := range []string{"gitdir", "HEAD", "commondir", "index"} {
				os.Remove(w.GitDir + "/worktrees/w1/" + file)
			}
			remove(t, w.Root)
			os.Mkdir(w.Root, 0o700)
			os.Symlink("fix", filepath.Dir(w.Root)+"/w1") // git is given the directory by this link
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			m, base := newManager(t)
			other := request(repo, "w0")
			other.Name = "fix-it"
			create(t, m, other) // not ours to touch
			runGit(t, repo, "branch", "middleman/fix-2")
			before := state(t, repo, base)
			r := request(repo, "w1")
			r.Branch = tc.branch
			tc.do(t, m, r)
			for range 2 {
				if err := m.Undo(context.Background(), recorded(r), false); err != nil {
					t.Fatal(err)
				}
				if after := state(t, repo, base); after != before {
					t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
				}
			}
		})
	}
}

// Whoever found the directory before it was undone may have worked in it.
func TestUndoKeepsWork(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	r := request(newRepo(t), "w1")
	w := create(t, m, r)
	write(t, filepath.Join(w.Root, "precious"), "work")
	commit(t, w.Root, "c.txt", "3\n")
	err := m.Undo(context.Background(), recorded(r), false)
	if refused, ok := errors.AsType[*workspace.WorkError](err); !ok || len(refused.Loss.Untracked) != 1 {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.Root, "precious")); err != nil {
		t.Error(err)
	}
	if err := m.Undo(context.Background(), recorded(r), true); err != nil {
		t.Error(err)
	}
	runGit(t, w.Repository, "rev-parse", "--verify", w.Branch) // it moved: it stays
}

func TestUndoRepositoryGone(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	r := request(newRepo(t), "w1")
	create(t, m, r)
	if err := os.RemoveAll(r.Directory); err != nil {
		t.Fatal(err)
	}
	if err := m.Undo(context.Background(), recorded(r), false); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("without consent: %v", err)
	}
	if err := m.Undo(context.Background(), recorded(r), true); err != nil {
		t.Errorf("with consent: %v", err)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
