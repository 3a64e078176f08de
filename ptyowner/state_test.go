//go:build unix

package ptyowner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/ptyowner"
	"middleman/terminal"
)

// spec is a session of sh.
func spec(script string) terminal.Spec {
	return terminal.Spec{
		ID:   terminal.NewID("s"),
		Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir: "/", Size: terminal.DefaultSize, Grace: 200 * time.Millisecond,
	}
}

// start starts a session that is stopped when the test ends, also where the
// test has made its state unreadable: mend undoes that.
func start(t *testing.T, b *ptyowner.Backend, s terminal.Spec, mend func()) terminal.Status {
	t.Helper()
	status, err := b.Start(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if mend != nil {
			mend()
		}
		err := b.Session(s.ID).Stop(context.Background(), -1)
		if err != nil && !errors.Is(err, terminal.ErrNotFound) {
			t.Errorf("stop at the end of the test: %v", err)
		}
	})
	return status
}

// record is what owner.json holds.
func record(t *testing.T, dir string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "owner.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// What is wrong with a live session's state makes it unreachable, never dead:
// the program goes on, nothing is removed, and mended it is found again.
func TestDamagedStateIsNotDeath(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string) (mend func())
		says   string
	}{
		{"corrupt owner.json", rewrite("owner.json", []byte("{")), "owner.json"},
		{"truncated owner.json", rewrite("owner.json", nil), "owner.json"},
		{"owner.json of a newer format", rewrite("owner.json", []byte(`{"format": 999}`)), "format 999"},
		{"directory that others can write", chmod(0o777), "writable by others"},
		{"lock removed", hide("owner.lock"), "owner.lock was removed"},
		{"corrupt exit.json", rewrite("exit.json", []byte("{")), "exit.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, newBackend := newBackends(t)
			b := newBackend()
			s := spec("exec sleep 1000")
			mend := func() {}
			before := start(t, b, s, func() { mend() })
			dir := filepath.Join(data, "sessions", s.ID)
			mend = tt.damage(t, dir)

			_, err := newBackend().Session(s.ID).Status(context.Background())
			if !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("status: %v, want unreachable for %q", err, tt.says)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if err := b.Session(s.ID).Remove(context.Background()); err == nil {
				t.Error("removed")
			}
			if err := syscall.Kill(before.PID, 0); err != nil {
				t.Fatalf("the program: %v", err)
			}
			mend()
			after, err := newBackend().Session(s.ID).Status(context.Background())
			if err != nil || after.PID != before.PID || after.State != terminal.StateRunning {
				t.Errorf("mended: %+v, %v", after, err)
			}
		})
	}
}

func rewrite(name string, with []byte) func(*testing.T, string) func() {
	return func(t *testing.T, dir string) func() {
		path := filepath.Join(dir, name)
		was, err := os.ReadFile(path)
		if err := os.WriteFile(path, with, 0o600); err != nil {
			t.Fatal(err)
		}
		if err != nil { // it was not there
			return func() { os.Remove(path) }
		}
		return func() { os.WriteFile(path, was, 0o600) }
	}
}

func hide(name string) func(*testing.T, string) func() {
	return func(t *testing.T, dir string) func() {
		path := filepath.Join(dir, name)
		if err := os.Rename(path, path+".hidden"); err != nil {
			t.Fatal(err)
		}
		return func() { os.Rename(path+".hidden", path) }
	}
}

func chmod(mode os.FileMode) func(*testing.T, string) func() {
	return func(t *testing.T, dir string) func() {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return func() { os.Chmod(dir, 0o700) }
	}
}

// A start in a place that is not safe is refused with the path, and leaves
// nothing.
func TestStartRefusesUnsafePlaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, data string)
		says string
	}{
		{"sessions that others can write", func(t *testing.T, data string) {
			os.Mkdir(filepath.Join(data, "sessions"), 0o700)
			os.Chmod(filepath.Join(data, "sessions"), 0o777)
		}, "writable by others"},
		{"sessions is a symbolic link", func(t *testing.T, data string) {
			if err := os.Symlink(t.TempDir(), filepath.Join(data, "sessions")); err != nil {
				t.Fatal(err)
			}
		}, "not a directory"},
		{"data directory that others can write", func(t *testing.T, data string) { os.Chmod(data, 0o777) }, "writable by others"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, newBackend := newBackends(t)
			tt.make(t, data)
			s := spec("exit 0")
			_, err := newBackend().Start(context.Background(), s)
			var startErr *terminal.StartError
			if !errors.As(err, &startErr) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), data) {
				t.Errorf("got %v, want a start error that says %q and the path", err, tt.says)
			}
			if _, err := os.Stat(filepath.Join(data, "sessions", s.ID)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("left behind: %v", err)
			}
		})
	}
}

// An owner that was killed takes its program along (the terminal hangs up) and
// leaves a session that is lost, with its output.
func TestKilledOwnerIsLost(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("echo before; exec sleep 1000")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	for got := ""; !strings.Contains(got, "before"); {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got += string(m.Data)
	}
	loseOwner(t, data, s.ID)
	if m, err := a.Receive(); !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("a viewer of a killed owner got %+v, %v: that is no exit", m, err)
	}
	a.Close()
	b.Wait()
	status, err := session.Status(context.Background())
	if err != nil || status.State != terminal.StateLost || status.Exit != nil || status.Source != "disk" {
		t.Errorf("status %+v, %v, want lost", status, err)
	}
	if _, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach}); !errors.Is(err, terminal.ErrGone) {
		t.Errorf("attach: %v, want gone", err)
	}
	if err := session.Input(context.Background(), []byte("x")); !errors.Is(err, terminal.ErrGone) {
		t.Errorf("input: %v, want gone", err)
	}
	out, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := session.Remove(context.Background()); err != nil {
		t.Errorf("remove of a lost session: %v", err)
	}
}

func ownerPID(t *testing.T, data, id string) int {
	t.Helper()
	return int(record(t, filepath.Join(data, "sessions", id))["owner_pid"].(float64))
}
