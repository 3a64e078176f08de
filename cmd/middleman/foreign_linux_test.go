package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

// Containers leave directories of root in a worktree, which its user cannot empty. A delete
// of it is a delete all the same: what it kept comes back, it says what is left, and prune
// removes that once it can be.
func TestForeignDirectories(t *testing.T) {
	testenv.NeedRoot(t, "make directories of another user")
	o := ordinary(t)
	repository := filepath.Join(o.home, "repository")
	o.must(o.shell(`git init -q "$0" && cd "$0" && echo ignored/ >.gitignore && git add . &&
		git -c user.name=n -c user.email=n@example.org commit -qm first`, repository))
	for _, x := range []struct{ name, dir, consent string }{{"ignored", "ignored", ""}, {"untracked", "data", "--discard-work"}} {
		o.must(o.command("new", x.name, "-d", "--no-session", "-C", repository))
		path := strings.TrimSpace(o.must(o.command("path", x.name)))
		dir := filepath.Join(path, x.dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("of root\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		args := []string{"rm", x.name}
		if x.consent != "" {
			args = append(args, x.consent)
		}
		out, err := o.command(args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), x.dir+" belongs to another user") {
			t.Fatalf("rm: %v: %s", err, out)
		}
		trash, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".trash-*"))
		if len(trash) != 1 || !strings.Contains(string(out), trash[0]) {
			t.Fatalf("%q is left, and rm says %s", trash, out)
		}
		if out, err := o.command("prune").CombinedOutput(); err == nil || !strings.Contains(string(out), x.dir+" belongs to another user") {
			t.Errorf("prune: %v: %s", err, out)
		}
		o.must(o.command("restore", x.name))
		if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "of root\n" {
			t.Errorf("restored: %q, %v", text, err)
		}
		o.must(o.command("rm", x.name, "--discard-work"))
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Base(trash[0])[len(".trash-"):]+"*"))
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	o.must(o.command("prune"))
}

// What the user may not read cannot be kept: rm and its forecast name it, and say what to
// do. A FIFO is no reason to refuse, and the forecast says that it is not kept, even if all
// else is in the repository.
func TestUnreadableFiles(t *testing.T) {
	o := ordinary(t)
	repository := filepath.Join(o.home, "repository")
	o.must(o.shell(`git init -q "$0" && cd "$0" && echo ignored/ >.gitignore && git add . &&
		git -c user.name=n -c user.email=n@example.org commit -qm first`, repository))
	for _, x := range []struct{ name, make, unread string }{
		{"file", "echo mine >secret; chmod 0 secret", "secret cannot be read"},
		{"directory", "mkdir closed; echo mine >closed/file; chmod 0 closed", "closed/ cannot be read"},
		{"unlisted", "mkdir -p d/closed; echo mine >d/closed/file; chmod 0400 d/closed", "d/closed/file cannot be read"},
		{"ignored", "mkdir ignored; echo mine >ignored/file; chmod 0 ignored/file", "ignored/file cannot be read"},
		{"closed", "mkdir ignored; echo mine >ignored/file; chmod 0 ignored", "ignored/ cannot be read"},
		{"fifo", "echo mine >new; mkfifo pipe", ""},
		{"clean", "mkdir d; mkfifo pipe d/pipe", ""},
	} {
		o.must(o.command("new", x.name, "-d", "--no-session", "-C", repository))
		path := strings.TrimSpace(o.must(o.command("path", x.name)))
		o.must(o.shell(`cd "$0" && `+x.make, path))
		forecast, err := o.command("rm", x.name, "-n").CombinedOutput()
		text := string(forecast)
		if x.unread == "" {
			if err != nil || !strings.Contains(text, "would not be kept: pipe (it is not a file, link or directory)\n") || strings.Contains(text, "would bring the rest back") == (x.name == "clean") {
				t.Errorf("%s: rm -n: %v: %s", x.name, err, text)
			}
		} else {
			if err == nil || !strings.Contains(text, x.unread) || !strings.Contains(text, "chmod u+rX") || strings.Contains(text, "rm --discard-work deletes it") {
				t.Errorf("%s: rm -n: %v: %s", x.name, err, text)
			}
			if out, err := o.command("rm", x.name, "--discard-work").CombinedOutput(); err == nil || !strings.Contains(string(out), x.unread) || !strings.Contains(string(out), "chmod u+rX") {
				t.Errorf("%s: rm: %v: %s", x.name, err, out)
			}
			o.must(o.shell(`chmod -R u+rwX "$0"`, path))
		}
		if x.name == "clean" {
			out, err := o.command("rm", x.name).CombinedOutput()
			if text := string(out); err != nil || !strings.Contains(text, "not kept: pipe (") || !strings.Contains(text, "not kept: d/pipe (") {
				t.Errorf("%s: rm: %v: %s", x.name, err, text)
			}
			continue
		}
		o.must(o.command("rm", x.name, "--discard-work"))
		o.must(o.command("restore", x.name))
		o.must(o.command("rm", x.name, "--discard-work"))
	}
}
