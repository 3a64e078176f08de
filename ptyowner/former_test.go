//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"middleman/internal/private"
	"middleman/terminal"
)

// A session that an earlier build ran on tmux without an owner is no backend's:
// while its lock is held it is unreachable, not dead, and nothing of it goes.
func TestFormerSession(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	owned := spec("sleep 1000")
	start(t, b, owned, nil)
	id := terminal.NewID("s")
	dir := filepath.Join(data, "sessions", id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tmux.json": `{"format":1,"argv":["sh"]}`, "start.lock": "", "session.lock": "",
		"exit.json": `{"code":3,"offset":0,"time":"2026-01-01T00:00:00Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := b.List(context.Background()); err != nil || len(ids) != 1 || ids[0] != owned.ID {
		t.Errorf("listed: %q, %v, want %s alone", ids, err, owned.ID)
	}
	s := b.Session(id)
	lock, err := private.TryLock(filepath.Join(dir, "session.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"status": second(s.Status(context.Background())),
		"stop":   s.Stop(context.Background(), -1),
		"remove": s.Remove(context.Background()),
	} {
		if !errors.Is(err, terminal.ErrUnreachable) {
			t.Errorf("%s of one that lives: %v, want it to be unreachable", what, err)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Status(context.Background()); err != nil || got.State != terminal.StateExited || got.Exit.Code != 3 {
		t.Errorf("one that has ended: %+v, %v", got, err)
	}
	if err := s.Remove(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its state is still there: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
