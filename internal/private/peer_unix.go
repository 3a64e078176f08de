//go:build linux || darwin

package private

import (
	"fmt"
	"net"
	"os"
)

// PeerUID returns the user id of the process at the other end of a Unix socket:
// the one that called connect(2) or listen(2).
func PeerUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("peer of socket: %w", err)
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { uid, inner = peerUID(int(fd)) }); err != nil {
		return -1, fmt.Errorf("peer of socket: %w", err)
	}
	if inner != nil {
		return -1, fmt.Errorf("peer of socket: %w", inner)
	}
	return uid, nil
}

// CheckPeer returns an error unless a process of this user is at the other end of
// the Unix socket. Both ends call it before they send or read.
func CheckPeer(conn net.Conn) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("peer of socket: %T is not a Unix socket", conn)
	}
	uid, err := PeerUID(socket)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("the process at the other end is of user %d, and you are user %d", uid, os.Geteuid())
	}
	return err
}
