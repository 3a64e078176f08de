package private_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// describe returns the owner and the access control list of a file, as text.
func describe(t *testing.T, path string) string {
	t.Helper()
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	must(t, err)
	return sd.String()
}

func userSID(t *testing.T) string {
	t.Helper()
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	must(t, err)
	return user.User.Sid.String()
}

// A directory is for this user alone from its first moment on, and so is what is
// made in it.
func TestMakeDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	must(t, private.MakeDir(path))
	must(t, private.MakeDir(path)) // it is there already
	for _, at := range []string{filepath.Dir(path), path} {
		sd := describe(t, at)
		others := strings.NewReplacer("(A;OICI;FA;;;SY)", "", "(A;OICI;FA;;;"+userSID(t)+")", "").Replace(sd)
		if !strings.HasPrefix(sd, "O:"+userSID(t)) || strings.Contains(others, "(") || others == sd {
			t.Errorf("%s has %s", at, sd)
		}
	}
	must(t, private.Replace(filepath.Join(path, "file"), []byte("text"), private.Durable))
	text, err := private.ReadFile(filepath.Join(path, "file"))
	if string(text) != "text" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if found := private.Survey(path); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

func TestDirRefusesOtherKinds(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := private.Dir(file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
	if err := private.Dir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
	if _, err := private.Open(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("open a directory: %v", err)
	}
	if err := private.Below(dir, filepath.Dir(dir)); err == nil {
		t.Error("a directory above is below")
	}
}

// Who reads a file of ours does not keep it from being replaced for longer than
// the reading takes.
func TestReplaceWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, private.Replace(path, []byte("old"), private.Durable))
	f, err := private.Open(path)
	must(t, err)
	replaced := make(chan error, 1)
	go func() { replaced <- private.Replace(path, []byte("new"), private.Durable) }()
	text, err := io.ReadAll(f)
	if string(text) != "old" || err != nil {
		t.Errorf("the open file reads %q, %v", text, err)
	}
	must(t, f.Close())
	must(t, <-replaced)
	text, err = private.ReadFile(path)
	if string(text) != "new" || err != nil {
		t.Errorf("the new file reads %q, %v", text, err)
	}
}

// A log is appended to, whoever else writes to it.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	one, err := private.Append(path)
	must(t, err)
	defer one.Close()
	other, err := private.Append(path)
	must(t, err)
	defer other.Close()
	for _, f := range []*os.File{one, other, one} {
		_, err := f.WriteString("x")
		must(t, err)
	}
	if text, err := private.ReadFile(path); string(text) != "xxx" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	f, err := private.Unnamed(dir, "x-*")
	must(t, err)
	_, err = f.WriteAt([]byte("text"), 0)
	must(t, err)
	must(t, f.Close())
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// A lock excludes other processes, and is free once its holder was killed.
func TestLockIsProofOfLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := private.TryShare(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("share a missing file: %v", err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MIDDLEMAN_TEST_HOLD="+path)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "<nil>" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	if held, err := private.IsHeld(path); !held || err != nil {
		t.Errorf("held: %t, %v", held, err)
	}
	if _, err := private.TryLock(path); !errors.Is(err, private.ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	lock, err := private.AwaitLock(ctx, path)
	must(t, err)
	must(t, lock.Close())
}

// pair is the two ends of a connection.
func pair(t *testing.T) (server *private.Conn, client net.Conn, l *private.Listener) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	must(t, private.MakeDir(dir))
	l, err := private.Listen(filepath.Join(dir, "s.sock"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	client, err = private.Dial(t.Context(), l.Addr().String())
	must(t, err)
	t.Cleanup(func() { client.Close() })
	server, err = private.Accept(l)
	must(t, err)
	t.Cleanup(func() { server.Close() })
	return server, client, l
}

func TestPipe(t *testing.T) {
	server, client, l := pair(t)
	for name, conn := range map[string]net.Conn{"server": server, "client": client} {
		if err := private.CheckPeer(conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if pid := private.PeerPID(conn); pid != os.Getpid() {
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
	second, err := private.Dial(t.Context(), l.Addr().String())
	must(t, err)
	must(t, second.Close())
}

// Close wakes Accept, and a client finds nobody.
func TestPipeCloses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.sock")
	l, err := private.Listen(path)
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
	if _, err := private.Dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dial: %v", err)
	}
}

// Close wakes Accept wherever the stack of its goroutine ends: a stack that grows
// while the system waits for a client moves, and the wait must not move with it.
func TestPipeClosesOnAnyStack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	stacks := make([]byte, 1<<20)
	for deep := range 128 { // each call takes some 80 bytes of the 8 KiB that a stack begins with
		l, err := private.Listen(path)
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
		if _, err := private.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	must(t, private.Replace(path, []byte(`\\.\pipe\middleman-gone`), private.ThisBoot))
	if _, err := private.Dial(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe that is gone: %v", err)
	}
}
