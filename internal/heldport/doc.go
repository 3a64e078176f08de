// Package heldport keeps the server's TCP port from other programs while no
// server runs.
//
// A browser trusts an origin: a scheme, a name and a port. For the browser, a
// program that has the port while the server is away is that origin. It can leave
// a service worker or a cached script there, which runs when the server is back.
// So a separate process, the holder, also has the listening sockets. No other
// program can listen there while the holder runs; it closes connections that
// arrive while no server runs. The next server gets the sockets from it, and with
// them the name of the origin (see Port). A server that finds no holder takes a
// new name, which no origin ever had.
//
// Sockets and requests go over a Unix socket in a private directory, and both
// sides check the peer's user id. The holder ends when a server tells it to, when
// the time that a server set is over, or when its socket is removed.
package heldport

import (
	"crypto/rand"
	"errors"
	"strings"
)

// ErrNone is the error of Find if there is no holder.
var ErrNone = errors.New("nobody holds the port")

// Port is the port that a holder holds.
type Port struct {
	// Address is the host:port of the first socket, with the actual port. The
	// same port of the other loopback address is held too, if the machine has
	// that address.
	Address string `json:"address"`
	// Name is the origin's host name, below localhost. Browsers resolve it to
	// this machine without a DNS query (RFC 6761, section 6.3).
	Name string `json:"name"`
}

const (
	prefix, suffix = "middleman-", ".localhost"
	nameLength     = 16 // 80 random bits
)

// NewName returns a name that no origin ever had.
func NewName() string { return prefix + strings.ToLower(rand.Text()[:nameLength]) + suffix }

// IsName reports whether host has the form of a name from NewName.
func IsName(host string) bool {
	label, ok := strings.CutPrefix(host, prefix)
	label, below := strings.CutSuffix(label, suffix)
	return ok && below && len(label) == nameLength && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
