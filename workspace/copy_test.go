//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/workspace"
)

// copyStage copies and returns how the stage ended: "" where there was none.
func copyStage(t *testing.T, m *workspace.Manager, w workspace.Workspace, patterns ...string) (workspace.Stage, error) {
	t.Helper()
	var last workspace.Stage
	err := m.Copy(context.Background(), w, workspace.CopyRequest{Patterns: patterns}, func(s workspace.Stage) { last = s })
	return last, err
}

// copied is what a worktree has beside what git has put there.
func copied(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	out := runGit(t, root, "-c", "core.quotePath=false", "ls-files", "-o", "-z")
	for name := range strings.SplitSeq(out, "\x00") {
		if name == "" {
			continue
		}
		path := filepath.Join(root, name)
		if target, err := os.Readlink(path); err == nil {
			found[name] = "-> " + target
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = string(content)
	}
	return found
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%q is %q, want %q", name, got[name], content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%q was copied", name)
		}
	}
}

func TestCopy(t *testing.T) {
	const odd = "cache/new\nline \"q\" \xff.env"
	files := map[string]string{
		".env": "SECRET=1\n", "sub/deep/.env": "SECRET=2\n", "cache/a/b/c": "c\n", odd: "odd\n",
		"-x.env": "dash\n", ":(top)*.log": "magic\n", "other.log": "log\n", "not-ignored.env": "mine\n",
	}
	for _, tt := range []struct {
		name     string
		include  string
		patterns []string
		want     []string
	}{
		{"by name, at every depth", ".env\n", nil, []string{".env", "sub/deep/.env"}},
		{"anchored", "/.env\n", nil, []string{".env"}},
		{"a directory", "cache/\n", nil, []string{"cache/a/b/c", odd}},
		{"all but", "*.env\n!/.env\n", nil, []string{odd, "-x.env", "sub/deep/.env"}},
		{"a comment, and a line without an end", "# .env\n\n/-x.env", nil, []string{"-x.env"}},
		{"by the configuration", "", []string{"/.env", "cache/a/"}, []string{".env", "cache/a/b/c"}},
		{"by both", "*.log", []string{"/.env"}, []string{".env", "other.log", ":(top)*.log"}},
		{"what git does not ignore", "not-ignored.env\n", nil, nil},
		{"what git tracks", "a.txt\nsub/\n", nil, []string{"sub/deep/.env"}},
		{"out of the checkout", "../../..\n../*\n/etc/passwd\n/\n..\n", nil, nil},
		{"git's own", ".git/\n.git/config\n.git\n", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			commit(t, repo, ".gitignore", ".env\n*.log\ncache/\n-x.env\na.txt\n")
			write(t, filepath.Join(filepath.Dir(repo), "outside.env"), "outside\n")
			for name, content := range files {
				write(t, filepath.Join(repo, name), content)
			}
			if tt.include != "" {
				commit(t, repo, ".worktreeinclude", tt.include)
			}
			m, _ := newManager(t)
			w := create(t, m, request(repo, "w1"))
			stage, err := copyStage(t, m, w, tt.patterns...)
			if err != nil || stage.State != "done" {
				t.Fatalf("%+v, %v", stage, err)
			}
			want := map[string]string{}
			for _, name := range tt.want {
				want[name] = files[name]
			}
			same(t, copied(t, w.Root), want)
			if status := runGit(t, w.Root, "status", "--porcelain"); status != "" {
				t.Errorf("git sees %q", status)
			}
		})
	}
}

func TestCopyNothingNamed(t *testing.T) {
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	if stage, err := copyStage(t, m, w); err != nil || stage.Name != "" {
		t.Errorf("%+v, %v", stage, err)
	}
	for _, mode := range []workspace.Mode{workspace.ModeDirectory, workspace.ModeInPlace} {
		other := w
		other.Mode = mode
		if stage, err := copyStage(t, m, other, ".env"); err != nil || stage.Name != "" {
			t.Errorf("%s: %+v, %v", mode, stage, err)
		}
	}
}

// Modes, times and links are kept, and what is there is not replaced.
func TestCopyKeeps(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "bin/\n")
	write(t, filepath.Join(repo, "bin/private/run"), "#!/bin/sh\n")
	write(t, filepath.Join(repo, "bin/there"), "theirs\n")
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, err := range []error{
		os.Chmod(filepath.Join(repo, "bin/private/run"), 0o751),
		os.Chmod(filepath.Join(repo, "bin/private"), 0o700),
		os.Chtimes(filepath.Join(repo, "bin/private/run"), old, old),
		os.Symlink("/etc/passwd", filepath.Join(repo, "bin/out")),
		os.Symlink("private", filepath.Join(repo, "bin/in")),
		os.Symlink("none", filepath.Join(repo, "bin/dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	write(t, filepath.Join(w.Root, "bin/there"), "mine\n")
	for _, detail := range []string{"4 files, 10 bytes; 1 existed already", "0 files, 0 bytes; 5 existed already"} {
		stage, err := copyStage(t, m, w, "bin/")
		if err != nil || stage.Detail != detail {
			t.Errorf("%+v, %v, want %q", stage, err, detail)
		}
	}
	same(t, copied(t, w.Root), map[string]string{
		"bin/private/run": "#!/bin/sh\n", "bin/there": "mine\n", "bin/out": "-> /etc/passwd", "bin/in": "-> private", "bin/dangling": "-> none",
	})
	for name, mode := range map[string]os.FileMode{"bin/private/run": 0o751, "bin/private": os.ModeDir | 0o700} {
		if info, err := os.Stat(filepath.Join(w.Root, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info, err, mode)
		}
	}
	if info, err := os.Stat(filepath.Join(w.Root, "bin/private/run")); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("time %v, %v", info.ModTime(), err)
	}
}

// Nothing is read or written through a link, neither of the one checkout nor
// of the other, and nobody is waited for.
func TestCopyHostile(t *testing.T) {
	repo := newRepo(t)
	outside := filepath.Join(filepath.Dir(repo), "outside")
	write(t, filepath.Join(outside, "key"), "private\n")
	commit(t, repo, ".gitignore", "key\n*.d\npipe\n.worktreeinclude\n")
	m, _ := newManager(t)
	// In the new worktree two directories of the main checkout are links.
	runGit(t, repo, "checkout", "-q", "-b", "hostile")
	for link, target := range map[string]string{"out": outside, "in": "sub"} {
		if err := os.Symlink(target, filepath.Join(repo, link)); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, repo, "add", "out", "in")
	runGit(t, repo, "commit", "-q", "-m", "links")
	r := request(repo, "w1")
	r.Base = "hostile"
	w := create(t, m, r)
	runGit(t, repo, "checkout", "-q", "main")
	write(t, filepath.Join(repo, "out/key"), "mine\n")
	write(t, filepath.Join(repo, "in/key"), "mine\n")
	write(t, filepath.Join(repo, "key"), "mine\n")
	if err := os.Symlink(outside, filepath.Join(repo, "link.d")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(repo, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	runGit(t, repo, "init", "-q", "nested.d")
	write(t, filepath.Join(repo, "nested.d/key"), "nested\n")

	stage, err := copyStage(t, m, w, "key", "*.d", "pipe")
	if err != nil {
		t.Fatal(err)
	}
	same(t, copied(t, w.Root), map[string]string{"key": "mine\n", "link.d": "-> " + outside})
	for _, said := range []string{"nested.d/ (it is a repository of its own)", "out/key (out is a symbolic link: ", "in/key (in is a symbolic link: "} {
		if !strings.Contains(stage.Detail, said) {
			t.Errorf("%q does not say %q", stage.Detail, said)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}

	// Neither is the list of patterns.
	for name, put := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(filepath.Join(outside, "key"), path) },
		"a FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"more than":       func(path string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o600) },
	} {
		path := filepath.Join(repo, ".worktreeinclude")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		stage, err := copyStage(t, m, w)
		if err != nil || !strings.Contains(stage.Detail, "skipped: .worktreeinclude (it ") || !strings.Contains(stage.Detail, name) {
			t.Errorf("%s: %+v, %v", name, stage, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}

	// A worktree that was replaced by a link is not written to.
	if err := os.Rename(w.Root, w.Root+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, w.Root); err != nil {
		t.Fatal(err)
	}
	if _, err := copyStage(t, m, w, "key"); !errors.Is(err, workspace.ErrEscapes) {
		t.Errorf("through a link: %v", err)
	}
}

// What is hidden is not copied, and a directory that is exchanged meanwhile with a link to
// what is hidden is not read through.
func TestCopyHidden(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "*.key\nkeys/\n")
	for _, name := range []string{"a.key", "keys/x.key", "keys/y.key", "dir/x.key", "dir/sub/x.key", "z.key"} {
		write(t, filepath.Join(repo, name), name)
	}
	top, err := filepath.EvalSymlinks(repo)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(repo, linked); err != nil {
		t.Fatal(err)
	}
	w.Repository = linked
	exchanged := false
	r := workspace.CopyRequest{Patterns: []string{"*.key"}, Hides: func(path string) (string, error) {
		if path == filepath.Join(top, "z.key") { // the last one
			exchanged = true
			return "", errors.Join(os.Rename(filepath.Join(repo, "dir"), filepath.Join(repo, "away")), os.Symlink("keys", filepath.Join(repo, "dir")))
		}
		for _, by := range []string{filepath.Join(top, "a.key"), filepath.Join(top, "keys")} {
			if path == by || filepath.Dir(path) == by {
				return by, nil
			}
		}
		return "", nil
	}}
	var last workspace.Stage
	if err := m.Copy(t.Context(), w, r, func(s workspace.Stage) { last = s }); err != nil || !exchanged {
		t.Fatalf("exchanged %t: %v", exchanged, err)
	}
	same(t, copied(t, w.Root), map[string]string{"z.key": "z.key"})
	for _, said := range []string{"a.key (it is hidden from sandboxed programs)", "keys (it is hidden", "dir/x.key (dir is a symbolic link", "copied 1 file"} {
		if !strings.Contains(last.Detail, said) {
			t.Errorf("%q does not say %q", last.Detail, said)
		}
	}
	broken := errors.New("broken")
	r.Hides = func(string) (string, error) { return "", broken }
	if err := m.Copy(t.Context(), w, r, nil); !errors.Is(err, broken) {
		t.Errorf("what is hidden is not known: %v", err)
	}
}

func TestCopyTooMuch(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "big\nsmall\n")
	write(t, filepath.Join(repo, "small"), "small\n")
	write(t, filepath.Join(repo, "big"), "")
	if err := os.Truncate(filepath.Join(repo, "big"), 9<<30); err != nil {
		t.Skipf("no large file here: %v", err)
	}
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	stage, err := copyStage(t, m, w, "big", "small")
	if err == nil || stage.State != "failed" || !strings.Contains(err.Error(), "the patterns name 2 files of 9.0 GiB, but at most 200000 of 8.0 GiB are copied") {
		t.Errorf("%+v, %v", stage, err)
	}
	same(t, copied(t, w.Root), map[string]string{})
}

func TestCopyCancelled(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", ".env\n")
	write(t, filepath.Join(repo, ".env"), "1\n")
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Copy(ctx, w, workspace.CopyRequest{Patterns: []string{".env"}}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, copied(t, w.Root), map[string]string{})
}
