//go:build linux || darwin

package listen

import (
	"net"

	"middleman/internal/private"
)

// checkPeers returns a listener that accepts only connections from processes of
// this user.
func checkPeers(l *net.UnixListener) (net.Listener, error) { return &peerListener{l}, nil }

type peerListener struct{ *net.UnixListener }

// Accept returns the next connection from a process of this user. It closes
// others.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if private.CheckPeer(conn) == nil {
			return conn, nil
		}
		// Another user gets no answer, not even an error.
		_ = conn.Close()
	}
}
