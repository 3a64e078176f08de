package ptyowner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/terminal"
)

// An owner that was killed is told of as such, by who waited for it and by who
// asks later; where nobody noted it, it is not known.
func TestLostTellsWhy(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("echo READY; exec cat")
	start(t, b, s, nil)
	loseOwner(t, data, s.ID)
	const killed = "its owner was killed by SIGKILL; it is not known by whom"
	check := func(when, want string, b terminal.Backend) {
		t.Helper()
		session := b.Session(s.ID)
		for { // until its lock is free
			status, err := session.Status(context.Background())
			if errors.Is(err, terminal.ErrUnreachable) || err == nil && status.State != terminal.StateLost {
				continue
			}
			if err != nil || status.Lost != want {
				t.Errorf("%s: %q, %v, want %q", when, status.Lost, err, want)
			}
			break
		}
		_, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
		if !errors.Is(err, terminal.ErrGone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: attach: %v, want %q", when, err, want)
		}
	}
	check("at once", killed, b)
	b.Wait()
	check("later", killed, newBackend())
	if err := os.Remove(filepath.Join(data, "sessions", s.ID, "owner.log")); err != nil {
		t.Fatal(err)
	}
	check("without a log", "its owner was killed or has failed; the reason is not known", newBackend())
}

// A log that is no file of ours, or a huge one, is no harm.
func TestLostWithHostileLog(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("echo READY; exec cat")
	start(t, b, s, nil)
	loseOwner(t, data, s.ID)
	b.Wait()
	path := filepath.Join(data, "sessions", s.ID, "owner.log")
	for name, make := range map[string]func() error{
		"pipe": func() error { return syscall.Mkfifo(path, 0o600) },
		"link": func() error { return os.Symlink("/dev/zero", path) },
		"large": func() error {
			return os.WriteFile(path, []byte(strings.Repeat("panic: x\n", 1<<20)+"panic: \x1b[31m\n"), 0o600)
		},
	} {
		if err := errors.Join(os.Remove(path), make()); err != nil {
			t.Fatal(err)
		}
		status, err := b.Session(s.ID).Status(context.Background())
		want := "its owner was killed or has failed; the reason is not known"
		if name == "large" {
			want = `its owner panicked: \x1b[31m (owner.log)`
		}
		if err != nil || status.Lost != want {
			t.Errorf("%s: %q, %v, want %q", name, status.Lost, err, want)
		}
	}
}
