//go:build linux || darwin

package listen

import (
	"net"

	"middleman/internal/private"
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
		if private.CheckPeer(conn) == nil {
			return conn, nil
		}
		// It is not ours: nothing is owed to it, not even an answer.
		_ = conn.Close()
	}
}
