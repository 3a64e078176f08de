//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// monitored attaches to a session as the monitor of a server does, and receives until the
// end of the test.
func monitored(t *testing.T, b *ptyowner.Backend, id string) terminal.AskingAttachment {
	t.Helper()
	a, err := b.Session(id).Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeWatch, NoOutput: true, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan error, 1)
	go func() {
		for {
			if _, err := a.Receive(); err != nil {
				received <- err
				return
			}
		}
	}()
	t.Cleanup(func() { a.Close(); <-received })
	return a.(terminal.AskingAttachment)
}

// An owner that was stopped is unreachable for who asks it over an attachment. The
// questions do not pile up at it, and it answers again once it goes on.
func TestStoppedOwnerIsAsked(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	asking := monitored(t, b, s.ID)
	owner := ownerPID(t, data, s.ID)
	if err := testenv.Freeze(owner); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(owner, syscall.SIGCONT) })
	refused := 0
	for range 40 {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err := asking.Status(ctx)
		if !errors.Is(err, terminal.ErrUnreachable) {
			t.Errorf("a stopped owner answered: %v", err)
		}
		if ctx.Err() == nil {
			refused++
		}
		cancel()
	}
	if refused == 0 {
		t.Error("every question was sent to the stopped owner")
	}
	if err := syscall.Kill(owner, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for {
		status, err := asking.Status(context.Background())
		if err == nil {
			if status.State != terminal.StateRunning {
				t.Errorf("it is %s", status.State)
			}
			return
		}
		if status, err = b.Session(s.ID).Status(context.Background()); err != nil { // it must answer: so the earlier replies were sent
			t.Fatal(err)
		}
	}
}

// What is remembered of a state directory for who asks over an attachment does not hide
// a change: the owner is then not said to run, as for a new connection.
func TestChangedStateIsSeenOverAnAttachment(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	asking := monitored(t, b, s.ID)
	dir := filepath.Join(data, "sessions", s.ID)
	record := filepath.Join(dir, "owner.json")
	for what, change := range map[string]func() (undo func() error, err error){
		"no record": func() (func() error, error) {
			return func() error { return os.Rename(record+".away", record) }, os.Rename(record, record+".away")
		},
		"loose record": func() (func() error, error) {
			return func() error { return os.Chmod(record, 0o600) }, os.Chmod(record, 0o666)
		},
		"loose state directory": func() (func() error, error) {
			return func() error { return os.Chmod(dir, 0o700) }, os.Chmod(dir, 0o777)
		},
		"loose directory of sessions": func() (func() error, error) {
			return func() error { return os.Chmod(filepath.Dir(dir), 0o700) }, os.Chmod(filepath.Dir(dir), 0o777)
		},
		"another directory": func() (func() error, error) {
			return func() error { return errors.Join(os.Remove(dir), os.Rename(dir+"0", dir)) }, errors.Join(os.Rename(dir, dir+"0"), os.Mkdir(dir, 0o700))
		},
	} {
		long := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Chtimes(record, long, long), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call remembers
			if status, err := asking.Status(t.Context()); err != nil || status.State != terminal.StateRunning || status.Argv == nil {
				t.Fatalf("before %s: %+v, %v", what, status, err)
			}
		}
		undo, err := change()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := asking.Status(t.Context()); err == nil {
			t.Errorf("%s: it is said to run", what)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
	}
}
