package listen

import (
	"net"

	"middleman/internal/ipc"
)

// checkPeers returns a listener that accepts only connections from processes of
// this user.
func checkPeers(l *ipc.Listener) net.Listener { return &peerListener{l} }

type peerListener struct{ *ipc.Listener }

// Accept returns the next connection from a process of this user. It closes
// others.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := ipc.Accept(l.Listener)
		if err != nil {
			return nil, err
		}
		if ipc.CheckPeer(conn) == nil {
			return conn, nil
		}
		// Another user gets no answer, not even an error.
		_ = conn.Close()
	}
}
