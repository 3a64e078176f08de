package server

import (
	"net"
	"net/http"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerPID is the process that made a connection over a Unix socket, 0 where
// that is not known.
func peerPID(conn net.Conn) (pid int) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // where it fails, the process is not known
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// hungUp reports whether the client of r has left although there is more of
// its request to read, behind which a read would only then find the end.
func hungUp(r *http.Request) bool {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	for {
		inner, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = inner.NetConn()
	}
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return true // it is closed
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil
}
