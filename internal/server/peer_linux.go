package server

import (
	"net"
	"net/http"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the client of r has disconnected. It notices that even
// while there are unread bytes of the request, after which a read would first
// find the end.
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
