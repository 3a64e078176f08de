package workspace_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/git"
	"middleman/workspace"
)

// In a box even a filter of the user's own can write nothing.
func TestLooksAreBoxed(t *testing.T) {
	if _, err := git.Box(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v, and CI=true", err)
		}
		t.Skipf("no box here: %v", err)
	}
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	trace := filepath.Join(t.TempDir(), "trace")
	config := filepath.Join(t.TempDir(), "gitconfig")
	script := filepath.Join(t.TempDir(), "filter")
	write(t, script, "#!/bin/sh\ncat\ntouch "+trace+" 2>/dev/null && echo written || echo kept\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	runGit(t, "/", "config", "--file", config, "filter.own.clean", script)
	t.Setenv("GIT_CONFIG_GLOBAL", config) // the user's, so it runs
	write(t, w.Root+"/.gitattributes", "a.txt filter=own\n")
	write(t, w.Root+"/a.txt", "changed\n")
	c := compare(t, m, w, workspace.DiffRequest{})
	var text bytes.Buffer
	if _, err := c.Patch(context.Background(), &text, 0); err != nil || !strings.Contains(text.String(), "+changed\n") || !strings.Contains(text.String(), "+kept\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("the filter wrote outside of the box")
	}
	if out, err := exec.Command("sh", "-c", "cd "+w.Root+" && git diff a.txt").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(trace); err != nil {
		t.Error("the filter never writes, so this shows nothing")
	}
}

// In a box nothing leads to the sockets of middleman: who reaches these acts outside.
// What git needs below such a directory is there.
func TestBoxHidesSockets(t *testing.T) {
	if _, err := git.Box(); err != nil {
		t.Skipf("no box here: %v", err)
	}
	home := filepath.Join(t.TempDir(), "home")
	repo := filepath.Join(home, "repo")
	runGit(t, "/", "clone", "-q", template(t), repo)
	m := workspace.New(workspace.Options{Base: filepath.Join(home, "work"), Hidden: []string{home, filepath.Join(home, "missing")}})
	w := create(t, m, request(repo, "w1"))
	write(t, filepath.Join(home, "secret"), "secret")
	script := filepath.Join(t.TempDir(), "filter")
	write(t, script, "#!/bin/sh\ncat\ncat "+filepath.Join(home, "secret")+" 2>/dev/null || echo hidden\n")
	config := filepath.Join(t.TempDir(), "gitconfig")
	runGit(t, "/", "config", "--file", config, "filter.own.clean", script)
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	write(t, w.Root+"/.gitattributes", "a.txt filter=own\n")
	write(t, w.Root+"/a.txt", "changed\n")
	var text bytes.Buffer
	c := compare(t, m, w, workspace.DiffRequest{})
	if _, err := c.Patch(context.Background(), &text, 0); err != nil || !strings.Contains(text.String(), "+changed\n") || !strings.Contains(text.String(), "+hidden\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// A box masks /run, but not a repository that is there, as on a disk that the
// user has mounted.
func TestBoxShowsWhatIsInRun(t *testing.T) {
	if _, err := git.Box(); err != nil {
		t.Skipf("no box here: %v", err)
	}
	dir, err := os.MkdirTemp("/run", "workspace-test-")
	if err != nil {
		t.Skipf("nothing can be made in /run: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	repo := filepath.Join(dir, "repo")
	runGit(t, "/", "clone", "-q", template(t), repo)
	m := workspace.New(workspace.Options{Base: filepath.Join(dir, "work")})
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/a.txt", "changed\n")
	if got := short(t, compare(t, m, w, workspace.DiffRequest{})); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A box that is cancelled at any moment leaves no process, also while it is
// being made.
func TestACancelledBoxLeavesNothing(t *testing.T) {
	if _, err := git.Box(); err != nil {
		t.Skipf("no box here: %v", err)
	}
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	if err := syscall.Mkfifo(w.Root+"/.gitignore", 0o600); err != nil { // git waits for it
		t.Fatal(err)
	}
	for i := range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*2*time.Millisecond)
		if c, err := m.Compare(ctx, w, workspace.DiffRequest{}); err == nil {
			t.Error("git did not wait, so this shows nothing")
			c.Close()
		}
		cancel()
	}
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(env), w.Root) {
			t.Errorf("left: %s", path)
		}
	}
}
