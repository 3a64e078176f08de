//go:build linux || darwin

package ipc

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer returns an error unless a process of this user is at the other end of
// the Unix socket: the one that called connect(2) or listen(2). Both ends call it
// before they send or read.
func CheckPeer(conn net.Conn) error {
	uid, _, err := peer(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("the process at the other end belongs to user %d, and you are user %d", uid, os.Geteuid())
	}
	return err
}

// PeerPID returns the id of the process that CheckPeer checks, or 0 if the system
// does not tell. The process may have ended.
func PeerPID(conn net.Conn) int {
	_, pid, _ := peer(conn) // it is 0 after an error
	return pid
}

func peer(conn net.Conn) (uid, pid int, err error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, 0, fmt.Errorf("peer of socket: %T is not a Unix socket", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return -1, 0, fmt.Errorf("peer of socket: %w", err)
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { uid, pid, inner = peerOf(int(fd)) }); err != nil {
		return -1, 0, fmt.Errorf("peer of socket: %w", err)
	}
	if inner != nil {
		return -1, 0, fmt.Errorf("peer of socket: %w", inner)
	}
	return uid, pid, nil
}
