//go:build unix

package tmux

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/testenv"
	"middleman/terminal"
)

// A state directory that another user could have written is not believed: its
// record names a program that would be run.
func TestUnsafeStateIsNotBelieved(t *testing.T) {
	b := newBackend(t)
	ctx := testContext(t)
	ran := filepath.Join(testenv.ShortDir(t), "ran")
	evil := filepath.Join(filepath.Dir(ran), "tmux")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho ran >>"+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(dir string) error{
		"mode 0777": func(dir string) error { return os.Chmod(dir, 0o777) },
		"mode 0720": func(dir string) error { return os.Chmod(dir, 0o720) },
		"mode 0702": func(dir string) error { return os.Chmod(dir, 0o702) },
		"link":      func(dir string) error { return errors.Join(os.Rename(dir, dir+".x"), os.Symlink(dir+".x", dir)) },
		"record":    func(dir string) error { return os.Chmod(filepath.Join(dir, recordFile), 0o666) },
		"another's": func(dir string) error { return os.Chown(dir, 61234, -1) },
	} {
		if name == "another's" && os.Geteuid() != 0 {
			continue // only root may give a directory away
		}
		s := b.session(terminal.NewID("s"))
		if err := os.MkdirAll(string(s.dir), 0o700); err != nil {
			t.Fatal(err)
		}
		rec := record{Format: formatVersion, ID: s.id, Created: time.Now(), Tmux: evil, Socket: filepath.Join(b.o.Runtime, "tmux.sock")}
		lock, err := tryLock(s.dir.path(sessionLock), unix.LOCK_EX)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		err = errors.Join(s.dir.writeJSON(recordFile, rec, private.ThisBoot),
			s.dir.writeJSON(launcherFile, launcher{PID: os.Getpid(), Program: os.Getpid()}, private.ThisBoot), spoil(string(s.dir)))
		if err != nil {
			t.Fatal(err)
		}
		_, statusErr := s.Status(ctx)
		_, captureErr := s.Capture(ctx, terminal.CaptureOptions{})
		_, attachErr := s.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach})
		for what, err := range map[string]error{"status": statusErr, "capture": captureErr, "attach": attachErr, "input": s.Input(ctx, []byte("x")), "stop": s.Stop(ctx, 0)} {
			if _, ok := errors.AsType[*private.UnsafeError](err); !ok {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if err := os.RemoveAll(string(s.dir)); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that a record named was run: %s, %v", text, err)
	}
}

// What is no id leads nowhere.
func TestIDIsNoPath(t *testing.T) {
	b := newBackend(t)
	ctx := testContext(t)
	id := terminal.NewID("s")
	outside := filepath.Join(filepath.Dir(b.o.Sessions), "outside", id)
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := stateDir(outside).writeJSON(recordFile, record{Format: formatVersion, ID: id}, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../outside/" + id, "", ".", "..", "/" + outside} {
		if _, err := b.Session(id).Status(ctx); !errors.Is(err, terminal.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
