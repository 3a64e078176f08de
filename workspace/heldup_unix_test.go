//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/workspace"
)

// A FIFO in the place of a file that git reads is named, and git is not waited
// for until its time is up.
func TestWhatHoldsGitUpIsNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace) (path string)
	}{
		{"ignore", func(t *testing.T, w workspace.Workspace) string { pipe(t, w.Root+"/.gitignore"); return ".gitignore" }},
		{"ignore, below", func(t *testing.T, w workspace.Workspace) string {
			write(t, w.Root+"/a/b/new", "x")
			pipe(t, w.Root+"/a/b/.gitignore")
			return filepath.FromSlash("a/b/.gitignore")
		}},
		{"exclude", func(t *testing.T, w workspace.Workspace) string {
			pipe(t, w.GitDir+"/info/exclude")
			return filepath.Join(w.GitDir, "info", "exclude")
		}},
		{"a link to a FIFO", func(t *testing.T, w workspace.Workspace) string {
			pipe(t, w.Repository+"/p")
			os.Remove(w.GitDir + "/info/exclude")
			if err := os.Symlink("../../p", w.GitDir+"/info/exclude"); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(w.GitDir, "info", "exclude")
		}},
		{"what is excluded by configuration", func(t *testing.T, w workspace.Workspace) string {
			runGit(t, w.Repository, "config", "core.excludesFile", w.Repository+"/p")
			pipe(t, w.Repository+"/p")
			return filepath.Join(w.Repository, "p")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			path := tc.do(t, w)
			named := func(what string, err error) {
				if !errors.Is(err, git.ErrHeldUp) || !strings.Contains(err.Error(), path+" is a FIFO") {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := m.Inspect(context.Background(), w)
			named("inspect", err)
			_, err = m.Delete(context.Background(), w, false, nil)
			named("delete", err)
			s, err := m.Status(context.Background(), w)
			if all := strings.Join(s.Unknown, " "); err != nil || s.Files != nil || !strings.Contains(all, path+" is a FIFO") {
				t.Errorf("status: %+v, %v", s, err)
			}
			c, err := m.Compare(context.Background(), w, workspace.DiffRequest{})
			if err == nil {
				c.Close()
			}
			named("compare", err)
		})
	}
}

// A ref, or an object, that is a FIFO.
func TestWhatHoldsGitUpInARepositoryIsNamed(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	w, other := create(t, m, request(repo, "w1")), create(t, m, request(newRepo(t), "w2"))
	pipe(t, w.GitDir+"/refs/heads/other")
	tree := runGit(t, other.Root, "rev-parse", "HEAD^{tree}")
	pipe(t, other.GitDir+"/objects/"+tree[:2]+"/"+tree[2:])
	for _, tc := range []struct {
		w    workspace.Workspace
		path string
	}{{w, "refs/heads/other"}, {other, "objects/" + tree[:2] + "/" + tree[2:]}} {
		_, err := m.Inspect(context.Background(), tc.w)
		if !errors.Is(err, git.ErrHeldUp) || !strings.Contains(err.Error(), filepath.FromSlash(tc.path)+" is a FIFO") {
			t.Errorf("%s: %v", tc.path, err)
		}
	}
}

// An included FIFO keeps every git of the repository waiting.
func TestAnIncludedFIFOIsNamed(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	runGit(t, w.Repository, "config", "include.path", "more")
	pipe(t, w.GitDir+"/more")
	for what, look := range map[string]func() error{
		"inspect": func() error { _, err := m.Inspect(context.Background(), w); return err },
		"delete":  func() error { _, err := m.Delete(context.Background(), w, true, nil); return err },
		"create":  func() error { _, err := m.Create(context.Background(), request(w.Repository, "w2"), nil); return err },
	} {
		if err := look(); !errors.Is(err, git.ErrHeldUp) || !strings.Contains(err.Error(), "more is a FIFO") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A FIFO that git does not read is in nobody's way.
func TestAFIFOBesideIsNotBlamed(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	pipe(t, w.Root+"/a-pipe")
	if _, err := m.Inspect(context.Background(), w); err != nil {
		t.Error(err)
	}
}
