//go:build unix

package ipc_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/testenv"
)

// connected returns two ends of a Unix socket.
func connected(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	l, err := ipc.Listen(filepath.Join(testenv.ShortDir(t), "s"))
	must(t, err)
	defer l.Close()
	dialed, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	must(t, err)
	t.Cleanup(func() { dialed.Close() })
	accepted, err := l.AcceptUnix()
	must(t, err)
	t.Cleanup(func() { accepted.Close() })
	return dialed, accepted
}

// Descriptors come with the bytes, and no child process inherits them. Too many
// are refused, and none of them is left open.
func TestSendFiles(t *testing.T) {
	const most = 2
	for n := range 2 * most {
		from, to := connected(t)
		read, write, err := os.Pipe()
		must(t, err)
		fds := make([]int, n)
		for i := range fds {
			fds[i] = int(write.Fd())
		}
		must(t, ipc.SendFiles(from, []byte("text"), fds...))
		must(t, write.Close())
		p := make([]byte, 10)
		got, passed, err := ipc.ReceiveFiles(to, p, most)
		if n > most {
			if err == nil || got != 0 || len(passed) != 0 {
				t.Errorf("%d descriptors: %d bytes, %v, %v", n, got, passed, err)
			}
		} else if err != nil || string(p[:got]) != "text" || len(passed) != n {
			t.Errorf("%d descriptors: %q, %v, %v", n, p[:got], passed, err)
		}
		for _, fd := range passed {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("flags %x, %v: a child would inherit it", flags, err)
			}
		}
		ipc.CloseFiles(passed)
		if _, err := io.ReadAll(read); err != nil { // comes to its end when all are closed
			t.Error(err)
		}
		must(t, read.Close())
	}
}

// More bytes than fit at once arrive whole, and the end is io.EOF.
func TestSendFilesWithManyBytes(t *testing.T) {
	from, to := connected(t)
	sent := bytes.Repeat([]byte("long"), 1<<20)
	done := make(chan error)
	go func() { done <- errors.Join(ipc.SendFiles(from, sent, int(os.Stdin.Fd())), from.Close()) }()
	var got []byte
	files := 0
	for p := make([]byte, 1<<16); ; {
		n, fds, err := ipc.ReceiveFiles(to, p, 1)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got = append(got, p[:n]...)
		files += len(fds)
		ipc.CloseFiles(fds)
	}
	must(t, <-done)
	if !bytes.Equal(got, sent) || files != 1 {
		t.Errorf("%d bytes and %d descriptors came", len(got), files)
	}
}

func TestListen(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(testenv.ShortDir(t), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	stale.SetUnlinkOnClose(false)
	must(t, stale.Close())
	l, err := ipc.Listen(path)
	must(t, err)
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	must(t, l.Close())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if _, err := ipc.Listen(filepath.Join(path, "s")); err == nil {
		t.Error("listens where there is no directory")
	}
}

func TestCheckPeer(t *testing.T) {
	dir := testenv.ShortDir(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	must(t, err)
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	must(t, err)
	defer conn.Close()
	must(t, ipc.CheckPeer(conn))
	other, err := l.Accept()
	must(t, err)
	defer other.Close()
	must(t, ipc.CheckPeer(other))
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if err := ipc.CheckPeer(a); err == nil {
		t.Error("what is no socket passed")
	}
}
