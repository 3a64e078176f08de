package listen

import (
	"net"

	"middleman/internal/private"
)

// checkPeers returns a listener that accepts only connections from processes of
// this user.
func checkPeers(l *private.Listener) net.Listener { return &peerListener{l} }

type peerListener struct{ *private.Listener }

// Accept returns the next connection from a process of this user. It closes
// others.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := private.Accept(l.Listener)
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
