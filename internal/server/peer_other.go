//go:build !linux

package server

import (
	"net"
	"net/http"
)

// peerPID returns 0: the peer's process is not known on this system.
func peerPID(net.Conn) int { return 0 }

// hungUp returns false. On this system the server notices that a client has
// disconnected only when it reads the rest of the request.
func hungUp(*http.Request) bool { return false }
