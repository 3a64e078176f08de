package onwindows

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

// git runs git in dir and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository makes a repository with one commit.
func newRepository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		testenv.NotUnderWine(t, "it has no git")
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "gitconfig")
	text := "[user]\n\tname = Somebody\n\temail = somebody@example.com\n[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := filepath.Join(t.TempDir(), "My Repo")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\r\ntwo\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// A worktree is made, worked in, deleted with its work kept, restored by another
// server, and deleted.
func TestWorktree(t *testing.T) {
	repository := newRepository(t)
	w := newWorld(t)
	_, _, end := w.serve()
	w.run(0, "new", "fix", "-d", "-C", repository, "--", self(t), "program", "echo")
	w.run(0, "wait", "fix", "--text", "ready", "--scrollback", "--timeout", "60s")
	path := strings.TrimSpace(w.run(0, "path", "fix"))
	if branch := git(t, path, "rev-parse", "--abbrev-ref", "HEAD"); branch != "middleman/fix" {
		t.Errorf("%s has the branch %q", path, branch)
	}
	if text, err := os.ReadFile(filepath.Join(path, "a.txt")); err != nil || string(text) != "one\r\ntwo\r\n" {
		t.Errorf("the checkout has %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(path, "new.txt"), []byte("new\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := w.run(0, "show", "fix"); !strings.Contains(text, "1 untracked") {
		t.Errorf("show says %q", text)
	}
	if text := w.run(0, "diff", "fix"); !strings.Contains(text, "new.txt") {
		t.Errorf("diff says %q", text)
	}
	w.run(0, "stop", "fix", "--grace", "0s")
	if text := w.run(1, "rm", "fix"); !strings.Contains(text, "1 untracked file") {
		t.Errorf("rm of work says %q", text)
	}
	w.run(0, "rm", "fix", "--discard-work")
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s is still there", path)
	}
	end()
	w.serve()
	w.run(0, "restore", "fix")
	path = strings.TrimSpace(w.run(0, "path", "fix"))
	if text, err := os.ReadFile(filepath.Join(path, "new.txt")); err != nil || string(text) != "new\r\n" {
		t.Errorf("the restored file has %q, %v", text, err)
	}
	w.run(0, "rm", "fix", "--discard-work")
	if text := git(t, repository, "worktree", "list", "--porcelain"); strings.Count(text, "worktree ") != 1 {
		t.Errorf("rm left %q", text)
	}
}

// What is committed in a worktree is shown, and merged into the user's checkout. git reads a copy of the refs there, as an ordinary user can make no links.
func TestMerge(t *testing.T) {
	repository := newRepository(t)
	w := newWorld(t)
	w.serve()
	w.run(0, "new", "fix", "-d", "-C", repository, "--no-session")
	path := strings.TrimSpace(w.run(0, "path", "fix"))
	if err := os.WriteFile(filepath.Join(path, "new.txt"), []byte("new\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, path, "add", "new.txt")
	git(t, path, "commit", "-q", "-m", "second")
	if text := w.run(0, "show", "fix"); !strings.Contains(text, "1 ahead") {
		t.Errorf("show says %q", text)
	}
	w.run(0, "merge", "fix", "--rm")
	if text, err := os.ReadFile(filepath.Join(repository, "new.txt")); err != nil || string(text) != "new\r\n" {
		t.Errorf("the merged file has %q, %v", text, err)
	}
	if text := git(t, repository, "status", "--porcelain"); text != "" {
		t.Errorf("the user's checkout has changes: %q", text)
	}
}

// What git cannot read keeps a worktree from being deleted, with consent too, because it
// cannot be kept: git lists nothing of what is in a directory "e." beside an empty "e".
func TestUnreadableNames(t *testing.T) {
	repository := newRepository(t)
	w := newWorld(t)
	w.serve()
	w.run(0, "new", "fix", "-d", "-C", repository, "--no-session")
	path := strings.TrimSpace(w.run(0, "path", "fix"))
	// A stash elsewhere is no work of this workspace, and is looked at.
	if err := os.WriteFile(filepath.Join(repository, "a.txt"), []byte("stashed\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, repository, "stash")
	for _, name := range []string{"e.", "aux"} {
		dir := `\\?\` + filepath.Join(path, name)
		for _, empty := range []string{filepath.Join(path, "e"), dir} {
			if err := os.MkdirAll(empty, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(dir+`\work`, []byte("hours"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"rm", "fix"}, {"rm", "fix", "--discard-work"}} {
			if text := w.run(1, args...); !strings.Contains(text, "git cannot read "+name) {
				t.Errorf("%v says %q", args, text)
			}
		}
		if text, err := os.ReadFile(dir + `\work`); err != nil || string(text) != "hours" {
			t.Errorf("the file is %q, %v", text, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	w.run(0, "rm", "fix")
}

// A branch whose file would be a device is refused, unless another is named; then the
// directory has another name. Names that differ in case alone are one.
func TestNamesOfWorktrees(t *testing.T) {
	repository := newRepository(t)
	w := newWorld(t)
	w.serve()
	for typed, want := range map[string]string{"CON": `"con" is the name of a device`, "nul.txt": "the name of a device"} {
		if text := w.run(1, "new", typed, "-d", "-C", repository, "--no-session"); !strings.Contains(text, want) {
			t.Errorf("%s: %s", typed, text)
		}
	}
	w.run(0, "new", "AUX", "-d", "-C", repository, "--no-session", "--branch", "harmless")
	if path := strings.TrimSpace(w.run(0, "path", "aux")); !filepath.IsLocal(filepath.Base(path)) {
		t.Errorf("aux is at %q", path)
	}
	w.run(0, "new", "Fix", "-d", "-C", repository, "--no-session")
	w.run(1, "new", "fIX", "-d", "-C", repository, "--no-session")
	if text := w.run(1, "new", "other", "-d", "-C", repository, "--no-session", "--branch", "Main"); !strings.Contains(text, "branch main is in the way") {
		t.Errorf("a branch in another case: %s", text)
	}
}
