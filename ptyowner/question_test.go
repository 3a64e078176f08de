//go:build unix

package ptyowner_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/terminal"
)

// An owner that was stopped is unreachable for who asks it over an attachment. The
// questions do not pile up at it, and it answers again once it goes on.
func TestStoppedOwnerIsAsked(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	a, err := b.Session(s.ID).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, NoOutput: true, From: new(uint64)})
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
	asking := a.(terminal.AskingAttachment)
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
