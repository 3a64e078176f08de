package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/server"
	"middleman/internal/testenv"
	"middleman/internal/watch"
	"middleman/workspace"
)

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// A list shows each change, at any depth, and looks at nothing that did not
// change.
func TestStatusFollowsEvents(t *testing.T) {
	p := newPlace(t)
	r, inspector := p.serveWatched(t, nil)
	w := r.workspace("w", nil)
	mkdir(t, filepath.Join(w.Root, "a/b/c"))
	write(t, filepath.Join(w.Root, "a/b/c/tracked"), "1")
	write(t, filepath.Join(w.Root, ".gitignore"), "node_modules\n")
	mkdir(t, filepath.Join(w.Root, "node_modules/deep"))
	git(t, w.Root, "add", ".")
	git(t, w.Root, "commit", "-q", "-m", "More")
	r.until("the first look is over", func() bool { return r.listed("status=1").Files != nil })
	confirmed := func(what string) *workspace.Status {
		t.Helper()
		looks := inspector.looks.Load()
		s := r.listed("status=1")
		if s.Source != "events" || s.Outdated || s.Unwatched != "" || inspector.looks.Load() != looks {
			t.Errorf("%s: %+v, %d looks more", what, s, inspector.looks.Load()-looks)
		}
		return s
	}
	if s := confirmed("at first"); !s.Files.Clean() {
		t.Errorf("at first: %+v", s.Files)
	}
	for _, step := range []struct {
		name string
		do   func()
		want workspace.Files
	}{
		{"a deep file", func() { write(t, filepath.Join(w.Root, "a/b/c/tracked"), "22") }, workspace.Files{Changed: 1}},
		{"an empty directory", func() { mkdir(t, filepath.Join(w.Root, "a/new/dir")) }, workspace.Files{Changed: 1}},
		{"a file in it", func() { write(t, filepath.Join(w.Root, "a/new/dir/f"), "1") }, workspace.Files{Changed: 1, Untracked: 1}},
		{"staged", func() { git(t, w.Root, "add", "a/new") }, workspace.Files{Changed: 1, Staged: 1}},
		{"undone", func() { git(t, w.Root, "reset", "-q", "--hard") }, workspace.Files{}},
		{"no longer ignored", func() {
			write(t, filepath.Join(w.Root, "node_modules/deep/f"), "1")
			git(t, w.Root, "rm", "-q", "--cached", ".gitignore")
			write(t, filepath.Join(w.Root, ".gitignore"), "")
		}, workspace.Files{Staged: 1, Untracked: 2}},
	} {
		step.do()
		if s := r.listed("status=1"); s.Files == nil || *s.Files != step.want || s.Source != "git" {
			t.Errorf("%s: %+v, files %+v", step.name, s, s.Files)
		}
		confirmed(step.name)
	}
	write(t, filepath.Join(w.Root, ".git-is-no-change"), "1")
	r.listed("status=1")
	write(t, filepath.Join(w.Root, ".gitignore"), "node_modules\n")
	r.listed("status=1")
	write(t, filepath.Join(w.Root, "node_modules/deep/g"), "1")
	confirmed("in an ignored directory")
}

// A workspace that is too large to be watched is looked at when it is asked for,
// and its status says why.
func TestStatusWithoutEvents(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) { o.Watch = watch.Limits{Total: 100, Tree: 5} })
	w := r.workspace("w", nil)
	for i := range 10 {
		mkdir(t, filepath.Join(w.Root, fmt.Sprintf("d%d", i)))
	}
	write(t, filepath.Join(w.Root, "d1/f"), "1")
	if s := r.listed("status=1"); s.Files == nil || s.Files.Untracked != 1 || !strings.Contains(s.Unwatched, "more than 5 directories") {
		t.Fatalf("first: %+v", s)
	}
	write(t, filepath.Join(w.Root, "d2/f"), "1")
	testenv.Eventually(t, patience, "the deep change is listed", func() bool {
		s := r.listed("status=1")
		return s.Files != nil && s.Files.Untracked == 2 && s.Source != "events"
	})
}
