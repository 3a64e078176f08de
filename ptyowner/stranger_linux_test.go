package ptyowner_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// plant makes the state of a session whose owner would listen at a socket.
func plant(t *testing.T, data, socket string) (id string) {
	t.Helper()
	id = terminal.NewID("s")
	dir := filepath.Join(data, "sessions", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(map[string]any{
		"format": 1, "min_protocol": 1, "max_protocol": 1, "owner_pid": 1, "token": "secret", "argv": []string{"/bin/sh"}, "dir": "/",
		"created": time.Now(), "socket": strings.ReplaceAll(socket, "ID", id),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"start.lock": "", "owner.lock": "", "owner.json": string(record)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_RDWR, 0)
	if err == nil {
		t.Cleanup(func() { held.Close() })
		err = unix.Flock(int(held.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A process of another user that has got hold of an owner's socket is told
// nothing, the token least of all.
func TestAnothersOwnerIsToldNothing(t *testing.T) {
	data := testenv.ShortDir(t)
	b := newBackend(t, ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run")})
	id := plant(t, data, filepath.Join(data, "sessions", "ID", "owner.sock"))
	l := testenv.ListenAsStranger(t, filepath.Join(data, "sessions", id, "owner.sock"))
	said := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			said <- err.Error()
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		data, _ := io.ReadAll(conn)
		said <- string(data)
	}()
	_, err := b.Session(id).Status(context.Background())
	if !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), "belongs to user 61234") {
		t.Errorf("status: %v", err)
	}
	if got := testenv.Receive(t, 60*time.Second, "the end of the connection", said); got != "" {
		t.Errorf("it was told %q", got)
	}
}

// A record leads to a socket of its own session in a directory of ours, and
// to no other.
func TestRecordLeadsNowhereElse(t *testing.T) {
	data, open := testenv.ShortDir(t), testenv.ShortDir(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	b := newBackend(t, ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run")})
	for socket, want := range map[string]string{
		filepath.Join(open, "ID.sock"):      open + " is writable by others (mode 0777)",
		filepath.Join(data, "run/any.sock"): "is not a socket of this session",
		"owner.sock":                        "is not a socket of this session",
		filepath.Join(open, "owner.sock"):   open + " is writable by others (mode 0777)",
	} {
		id := plant(t, data, socket)
		if _, err := b.Session(id).Status(context.Background()); !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", socket, err, want)
		}
	}
}

// A pipe, a link or a directory in the place of a state file is named, and
// holds nobody up.
func TestOtherThingsThanFiles(t *testing.T) {
	data := testenv.ShortDir(t)
	b := newBackend(t, ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run")})
	for want, put := range map[string]func(path string) error{
		"is a FIFO, not a file":          func(path string) error { return unix.Mkfifo(path, 0o600) },
		"is a symbolic link, not a file": func(path string) error { return os.Symlink("start.lock", path) },
		"is a directory, not a file":     func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		for _, name := range []string{"owner.json", "exit.json"} {
			id := plant(t, data, filepath.Join(data, "sessions", "ID", "owner.sock"))
			path := filepath.Join(data, "sessions", id, name)
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Session(id).Status(context.Background()); !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}
