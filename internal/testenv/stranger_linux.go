package testenv

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Stranger is the id of a user and a group that are nobody's.
const Stranger = 61234

// ListenAsStranger listens at a Unix socket as another user, in whatever
// directory. The test is skipped where it does not run as root.
func ListenAsStranger(t testing.TB, path string) net.Listener {
	t.Helper()
	fd := unixSocket(t)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	file := asStranger(t, fd, func() error { return unix.Listen(fd, 16) })
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// DialAsStranger connects to a Unix socket as another user, to whom path must
// be open. The test is skipped where it does not run as root.
func DialAsStranger(t testing.TB, path string) net.Conn {
	t.Helper()
	fd := unixSocket(t)
	file := asStranger(t, fd, func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) })
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func unixSocket(t testing.TB) int {
	t.Helper()
	NeedRoot(t, "become another user")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// asStranger calls do on a thread that is another user's, which ends with it,
// and returns the file of fd.
func asStranger(t testing.TB, fd int, do func() error) *os.File {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, Stranger, Stranger, Stranger); errno != 0 {
			done <- errno
			return
		}
		done <- do()
	}()
	file := os.NewFile(uintptr(fd), "socket")
	if err := <-done; err != nil {
		file.Close()
		t.Fatal(err)
	}
	return file
}
