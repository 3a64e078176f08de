//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

// silentGit puts a git first in PATH that ends well and answers nothing, to
// all commands or to one alone.
func silentGit(t *testing.T, to string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do [ \"$a\" = " + to + " ] && exit 0; done\nexec " + real + " \"$@\"\n"
	if to == "" {
		script = "#!/bin/sh\nexit 0\n"
	}
	testenv.WriteProgram(t, filepath.Join(dir, "git"), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const silence = "git printed nothing"

// Silence is no answer: neither "clean" nor "nothing would be lost".
func TestSilentGit(t *testing.T) {
	ctx := context.Background()
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/precious", "work")
	for _, to := range []string{"status", ""} {
		t.Run("to "+to, func(t *testing.T) {
			silentGit(t, to)
			s, err := m.Status(ctx, w)
			if err == nil && (s.Files != nil || len(s.Unknown) == 0 || !strings.Contains(s.Unknown[0], silence)) {
				t.Errorf("status: %+v, want it unknown", s)
			}
			if loss, err := m.Inspect(ctx, w); err == nil {
				t.Errorf("inspect: %+v, want an error", loss)
			}
			if loss, err := m.Delete(ctx, w, false, nil); !errors.Is(err, workspace.ErrUnknown) {
				t.Errorf("delete: %+v, %v, want %v", loss, err, workspace.ErrUnknown)
			}
			if _, err := os.Lstat(w.Root + "/precious"); err != nil {
				t.Error(err)
			}
		})
	}
	silentGit(t, "")
	if _, err := m.Create(ctx, request(repo, "w2"), nil); err == nil || !strings.Contains(err.Error(), silence) {
		t.Errorf("create: %v, want %q", err, silence)
	}
}

// What would run as somebody else, or as a group, comes back as it was.
func TestRestoreBits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	want := map[string]os.FileMode{
		"setuid": 0o755 | os.ModeSetuid, "setgid": 0o755 | os.ModeSetgid, "plain": 0o640,
		"shared": 0o770 | os.ModeSetgid | os.ModeDir, "sticky": 0o777 | os.ModeSticky | os.ModeDir,
	}
	for name, mode := range want {
		file := w.Root + "/" + name
		if mode.IsDir() {
			file += "/inside"
		}
		write(t, file, "x")
		if err := os.Chown(w.Root+"/"+name, os.Geteuid(), os.Getegid()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(w.Root+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	loss, err := m.Delete(ctx, w, true, nil)
	if err != nil || len(loss.Unkept) > 0 {
		t.Fatalf("%+v, %v", loss, err)
	}
	w, notes, err := m.Restore(ctx, w, nil)
	if err != nil || len(notes) > 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	for name, mode := range want {
		if info, err := os.Lstat(w.Root + "/" + name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

// A bit that would lend the rights of somebody else than the owner is not
// brought back on a file that is ours, and that is said.
func TestRestoreBitsOfAnother(t *testing.T) {
	t.Parallel()
	testenv.NeedRoot(t, "give a file away")
	ctx := context.Background()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.Root+"/theirs", "x")
	if err := errors.Join(os.Chown(w.Root+"/theirs", 12345, 12345), os.Chmod(w.Root+"/theirs", 0o755|os.ModeSetuid|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	loss, err := m.Delete(ctx, w, true, nil)
	if err != nil || len(loss.Unkept) != 1 || !strings.Contains(loss.Unkept[0], "setuid or setgid of theirs") {
		t.Fatalf("%+v, %v", loss, err)
	}
	w, _, err = m.Restore(ctx, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(w.Root + "/theirs"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

// No consent is asked for that would not help: a delete with it keeps what it
// destroys, by the same git.
func TestInspectThatCannotKeep(t *testing.T) {
	ctx := context.Background()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.GitDir+"/worktrees/w1/index", "damaged")
	if _, err := m.Inspect(ctx, w); err == nil || errors.Is(err, workspace.ErrNotKept) {
		t.Errorf("an index that is kept as it is: %v", err)
	}
	silentGit(t, "")
	if _, err := m.Inspect(ctx, w); !errors.Is(err, workspace.ErrNotKept) || !strings.Contains(err.Error(), silence) {
		t.Errorf("a git that keeps nothing: %v, want %v", err, workspace.ErrNotKept)
	}
	if _, err := m.Delete(ctx, w, true, nil); !errors.Is(err, workspace.ErrNotKept) {
		t.Errorf("delete with consent: %v, want %v", err, workspace.ErrNotKept)
	}
}
