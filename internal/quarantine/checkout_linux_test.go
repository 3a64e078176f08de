package quarantine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
	"middleman/workspace/model"
)

// In the main checkout a program commits, and the user works on beside it.
func TestMainCheckout(t *testing.T) {
	x := newWorld(t).inMainCheckout()
	x.prepare(false)
	x.run("echo in >>file; git commit -qam inside; git branch kept")
	if out := x.bring(); out.Commits != 1 || out.Conflict || out.IndexKept != "" || len(out.Pinned) != 1 {
		t.Errorf("%+v", out)
	}
	x.host("commit", "-q", "--allow-empty", "-m", "outside")
	x.prepare(false)
	if subject := x.run("git log -1 --format=%s; git status --porcelain"); subject != "outside" {
		t.Errorf("the next session is at %q", subject)
	}
	x.run("git commit -q --allow-empty -m more")
	x.host("commit", "-q", "--allow-empty", "-m", "outside again")
	if out := x.bring(); !out.Conflict || !out.Complete() {
		t.Errorf("%+v", out)
	}
	for _, script := range []string{"rm -rf .git", "mv .git x", "rmdir .git", "ln -sfn /nowhere .git", "mount --bind /tmp .git"} {
		if out, err := x.try(script); err == nil && !strings.HasPrefix(script, "ln") {
			t.Errorf("%s works: %s", script, out)
		}
	}
	if status := x.host("log", "-1", "--format=%s"); status != "outside again" {
		t.Errorf("outside: %s", status)
	}
	x.host("fsck", "--no-progress")
}

// Without mounts nothing keeps a program from .git in its workspace, so that is asked for
// read-only, which a policy refuses.
func TestMainCheckoutWithoutMounts(t *testing.T) {
	x := newWorld(t).inMainCheckout()
	x.q = quarantine.At(filepath.Join(x.top, "quarantine"), x.w, sandbox.Landlock, x.hides)
	x.prepare(false)
	p := sandbox.Policy{Schema: 1, Level: sandbox.Workspace, Method: sandbox.Landlock, Dir: x.tree, Temp: "/tmp", Writable: []string{x.tree}, ReadOnly: x.access.ReadOnly}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "landlock cannot protect "+x.w.GitDir) {
		t.Errorf("%v", err)
	}
}

// Files of the checkout that the user's settings include are read-only, and one that a
// program could make is refused. So are other worktrees.
func TestSettingsInTheCheckout(t *testing.T) {
	for _, c := range []struct {
		name, setting, file, attack string
		refused                     bool
	}{
		{"a file", "../.gitconfig", ".gitconfig", "echo x >.gitconfig || mv .gitconfig x || rm -f .gitconfig", false},
		{"a file further below", "../conf/deep/git", "conf/deep/git", "echo x >conf/deep/git || mv conf x || mv conf/deep x", false},
		{"a file that is not there", "../.gitconfig", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t).inMainCheckout()
			x.repo.Git("config", "include.path", c.setting)
			if c.file != "" {
				x.repo.Write(c.file, "[user]\n")
			}
			access, err := x.q.Prepare(t.Context(), false)
			if c.refused {
				if err == nil || !strings.Contains(err.Error(), "include") {
					t.Errorf("%v: %+v", err, access)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			x.access = access
			if out, err := x.try(c.attack); err == nil {
				t.Errorf("it works: %s", out)
			}
			x.run("git commit -q --allow-empty -m inside")
			if out := x.bring(); out.Commits != 1 {
				t.Errorf("%+v", out)
			}
		})
	}
	x := newWorld(t).inMainCheckout()
	x.repo.Git("worktree", "add", "-q", ".middleman/work/w", "-b", "w")
	x.repo.Git("worktree", "add", "-q", "other", "-b", "o")
	x.repo.Git("worktree", "add", "-q", "deep/er", "-b", "d")
	x.prepare(false)
	if out, err := x.try("echo gitdir: x >.middleman/work/w/.git || mv .middleman x || mv other x || rm -f other/.git || mv deep x"); err == nil {
		t.Errorf("it works: %s", out)
	}
}

// A directory that is no workspace of a repository: the user's own repository in it is as a
// main checkout. One that a session made is that session's, and one that was made
// afterwards is protected.
func TestRepositoryInADirectory(t *testing.T) {
	x := newWorld(t)
	in := func(name string) {
		x.tree = filepath.Join(x.top, name)
		if err := os.MkdirAll(x.tree, 0o700); err != nil {
			t.Fatal(err)
		}
		x.w = model.Workspace{ID: x.w.ID, Name: name, Mode: model.ModeDirectory, Root: x.tree}
		x.q = quarantine.At(filepath.Join(x.top, "quarantine", name), x.w, sandbox.Bubblewrap, x.hides)
	}
	const commit = "git commit -q --allow-empty -m inside"
	clone := func() { x.repo.Git("clone", "-q", x.repo.Dir, x.tree) }

	in("mine")
	clone()
	in("mine")
	x.prepare(false)
	x.run(commit)
	if out := x.bring(); out.Commits != 1 {
		t.Errorf("%+v", out)
	}
	if subject := x.host("log", "-1", "--format=%s"); subject != "inside" {
		t.Errorf("outside: %s", subject)
	}

	in("made inside")
	x.prepare(false)
	x.run("git init -q; " + commit)
	if err := x.q.NoteMade(); err != nil {
		t.Fatal(err)
	}
	in("made inside")
	x.prepare(false)
	x.run(commit)
	if len(x.access.Notes) != 1 || !strings.Contains(x.access.Notes[0], "was made in the sandbox") || x.access.Binds != nil {
		t.Errorf("%+v", x.access)
	}
	if err := os.RemoveAll(filepath.Join(x.tree, ".git")); err != nil {
		t.Fatal(err)
	}
	clone()

	for _, name := range []string{"made inside", "made afterwards"} {
		if in(name); name == "made afterwards" {
			x.prepare(false)
			clone()
			in(name)
		}
		x.prepare(false)
		if out, err := x.try(commit + " || git config a.b c || mv .git x"); err == nil {
			t.Errorf("%s: it works: %s", name, out)
		}
		if len(x.access.Notes) != 1 || !strings.Contains(x.access.Notes[0], "read-only") {
			t.Errorf("%s: %q", name, x.access.Notes)
		}
		if _, err := x.q.Import(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The sandbox that an import reads the private directory in hides what the session's hides:
// links and alternates of the program's lead nowhere else.
func TestImportReadsNothingHidden(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(method), func(t *testing.T) {
			if s := sandbox.Probe(); method == sandbox.Landlock && s.NoLandlock != "" {
				t.Skip(s.NoLandlock)
			}
			x := newWorld(t)
			secret, err := os.MkdirTemp(".", ".secret-*") // bubblewrap hides all that is in /tmp
			if err != nil {
				t.Skip(err)
			}
			defer os.RemoveAll(secret)
			if secret, err = filepath.Abs(secret); err != nil {
				t.Fatal(err)
			}
			x.repo.Git("init", "-q", "-b", "main", secret)
			if err := os.WriteFile(filepath.Join(secret, "letter"), []byte("the secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			x.repo.Git("-C", secret, "add", "letter")
			x.repo.Git("-C", secret, "commit", "-q", "-m", "letter")
			x.hidden = []string{secret}
			x.q = quarantine.At(filepath.Join(x.top, "quarantine"), x.w, method, x.hides)
			x.prepare(false)
			// As a program in the sandbox would: it cannot read there, and needs not.
			private := filepath.Join(x.top, "quarantine", quarantine.GitDirectory)
			file, err := os.OpenFile(filepath.Join(private, "objects/info/alternates"), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = fmt.Fprintln(file, filepath.Join(secret, ".git/objects"))
				err = errors.Join(err, file.Close(), os.Symlink(filepath.Join(secret, ".git/refs/heads/main"), filepath.Join(private, "refs/heads/stolen")))
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := x.q.Import(t.Context())
			t.Logf("%+v, %v", out, err)
			look := exec.Command("git", "-C", x.repo.Dir, "cat-file", "-p", x.repo.Git("-C", secret, "rev-parse", "HEAD:letter"))
			if got, err := look.Output(); err == nil {
				t.Errorf("the repository has %q", got)
			}
		})
	}
}

// What is small in the sandbox and endless outside is left there.
func TestEndless(t *testing.T) {
	t.Run("trees", func(t *testing.T) {
		if free := available(t); free < 4<<30 {
			t.Skipf("only %d bytes of memory are free, and git takes up to 2 GiB", free)
		}
		x := newWorld(t)
		x.prepare(false)
		x.run(`b=$(echo x | git hash-object -w --stdin); p=$(printf '%0240d' 0); t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %s\tf%s\n' $b $i; done | git mktree)
			for n in 1 2 3 4 5 6 7 8 9 10 11; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\t%s%s\n' $t $p $i; done | git mktree); done
			git checkout -q --detach; git update-ref refs/heads/mine $(git commit-tree -p HEAD -m bomb $t)`)
		if out := x.bring(); out.After != out.Before || len(out.Missed) != 1 || !strings.Contains(out.Missed[0], "more files than") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("directories", func(t *testing.T) {
		x := newWorld(t)
		x.prepare(false)
		x.run("git commit -q --allow-empty -m fine")
		deep(t, filepath.Join(x.top, "quarantine", quarantine.GitDirectory), 3000)
		if out := x.bring(); out.Commits != 1 {
			t.Errorf("%+v", out)
		}
		if err := x.q.Remove(t.Context(), true); err != nil {
			t.Error(err)
		}
	})
}

// available is how much memory the machine has left.
func available(t *testing.T) (bytes int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "MemAvailable:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

// deep makes a directory in a directory in a directory, as deep as asked for.
func deep(t *testing.T, at string, depth int) {
	t.Helper()
	dir, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	for ; err == nil && depth > 0; depth-- {
		outer := dir
		if err = unix.Mkdirat(outer, "d", 0o700); err == nil {
			dir, err = unix.Openat(outer, "d", unix.O_PATH|unix.O_CLOEXEC, 0)
		}
		unix.Close(outer)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(dir)
}
