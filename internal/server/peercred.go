//go:build linux || darwin

package server

import (
	"fmt"
	"net"
	"os"
)

// checkPeers returns l without those connections whose other end is not a
// process of this user.
func checkPeers(l *net.UnixListener) (net.Listener, error) { return &peerListener{l}, nil }

type peerListener struct{ *net.UnixListener }

// Accept returns the next connection of this user; others are closed.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := connUID(conn); err == nil && uid == os.Getuid() {
			return conn, nil
		}
		// It is not ours: nothing is owed to it, not even an answer.
		_ = conn.Close()
	}
}

// connUID is the user id of the process at the other end.
func connUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("peer of socket: %w", err)
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { uid, inner = peerUID(int(fd)) }); err != nil {
		return 0, fmt.Errorf("peer of socket: %w", err)
	}
	return uid, inner
}
