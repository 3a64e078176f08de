package ipc_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/internal/testenv"
)

// pair is the two ends of a connection.
func pair(t *testing.T) (server *ipc.Conn, client net.Conn, l *ipc.Listener) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	must(t, private.MakeDir(dir))
	l, err := ipc.Listen(filepath.Join(dir, "s.sock"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	client, err = ipc.Dial(t.Context(), l.Addr().String())
	must(t, err)
	t.Cleanup(func() { client.Close() })
	server, err = ipc.Accept(l)
	must(t, err)
	t.Cleanup(func() { server.Close() })
	return server, client, l
}

func TestPipe(t *testing.T) {
	server, client, l := pair(t)
	for name, conn := range map[string]net.Conn{"server": server, "client": client} {
		if err := ipc.CheckPeer(conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if pid := ipc.PeerPID(conn); pid != os.Getpid() {
			t.Errorf("%s: the peer is %d, want %d", name, pid, os.Getpid())
		}
	}
	const size = 1 << 20 // more than the system holds
	sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	wrote := make(chan error, 1)
	go func() {
		_, err := client.Write(sent)
		wrote <- err
	}()
	got := make([]byte, size)
	_, err := io.ReadFull(server, got)
	must(t, err)
	must(t, <-wrote)
	if !bytes.Equal(got, sent) {
		t.Error("other bytes came")
	}
	must(t, client.SetReadDeadline(time.Now().Add(-time.Second)))
	if _, err := client.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	must(t, client.SetReadDeadline(time.Time{}))
	_, err = server.Write([]byte("last"))
	must(t, err)
	must(t, server.Close())
	rest, err := io.ReadAll(client)
	if string(rest) != "last" || err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	second, err := ipc.Dial(t.Context(), l.Addr().String())
	must(t, err)
	must(t, second.Close())
}

// Close wakes Accept, and a client finds nobody.
func TestPipeCloses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.sock")
	l, err := ipc.Listen(path)
	must(t, err)
	accepted := make(chan error)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	must(t, l.Close())
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second close: %v", err)
	}
	if _, err := ipc.Dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dial: %v", err)
	}
}

// Close wakes Accept wherever the stack of its goroutine ends: a stack that grows
// while the system waits for a client moves, and the wait must not move with it.
func TestPipeClosesOnAnyStack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	stacks := make([]byte, 1<<20)
	for deep := range 128 { // each call takes some 80 bytes of the 8 KiB that a stack begins with
		l, err := ipc.Listen(path)
		must(t, err)
		accepted, closed := make(chan error, 1), make(chan error, 1)
		go below(deep, func() {
			_, err := l.Accept()
			accepted <- err
		})
		testenv.Eventually(t, time.Minute, "Accept waits", func() bool {
			return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("WaitForMultipleObjects"))
		})
		go func() { closed <- l.Close() }()
		select {
		case err := <-accepted:
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("accept, %d calls deep: %v", deep, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("Accept, %d calls deep, does not notice Close", deep)
		}
		must(t, <-closed)
	}
}

// below calls f with that many calls of its own on the stack.
//
//go:noinline
func below(calls int, f func()) {
	if calls == 0 {
		f()
		return
	}
	below(calls-1, f)
}

// What is at the path of a socket may have been written by anybody: only the
// name of a pipe of ours is dialled, and one that is gone is missing.
func TestDialRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	for _, x := range []struct{ name, content, want string }{
		{"nothing", "", "no name of a pipe"},
		{"a pipe of another program", `\\.\pipe\lsass`, "no name of a pipe"},
		{"a pipe of another machine", `\\server\pipe\middleman-a`, "no name of a pipe"},
		{"a path in the name", `\\.\pipe\middleman-..\lsass`, "no name of a pipe"},
		{"a file", `C:\windows\win.ini`, "no name of a pipe"},
		{"a long one", `\\.\pipe\middleman-` + strings.Repeat("a", 300), "no name of a pipe"},
	} {
		must(t, private.Replace(path, []byte(x.content), private.ThisBoot))
		if _, err := ipc.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	must(t, private.Replace(path, []byte(`\\.\pipe\middleman-gone`), private.ThisBoot))
	if _, err := ipc.Dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe that is gone: %v", err)
	}
}
