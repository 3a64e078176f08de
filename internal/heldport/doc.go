// Package heldport keeps our port ours while no server of ours listens on it.
//
// A browser trusts an origin: a name and a port. Whoever has the port while our
// server is away is that origin, and can leave a service worker or a cached
// script that runs in it when our server is back. So a process of its own, the
// holder, has the listening sockets too. Nobody else can listen there as long
// as it lives; what connects meanwhile is closed. The next server gets the
// sockets from it, and with them the name of the origin (see Port). A server
// that finds no holder takes a name that nobody ever had.
//
// Sockets and requests go over a Unix socket in a private directory, the peer's
// uid checked by both sides. The holder ends when a server says so, when the
// time is over until which it was to stay, or when its socket is removed.
package heldport

import (
	"crypto/rand"
	"errors"
	"strings"
)

// ErrNone says that there is no holder.
var ErrNone = errors.New("nobody holds the port")

// Port is what a holder holds.
type Port struct {
	// Address is the host:port that was asked for, with the port that it
	// became; the same port of the other loopback address is held too, where
	// the machine has it.
	Address string `json:"address"`
	// Name is the origin's, below localhost. Browsers take it to be this
	// machine without asking anybody (RFC 6761, section 6.3).
	Name string `json:"name"`
}

const (
	prefix, suffix = "middleman-", ".localhost"
	nameLength     = 16 // 80 random bits
)

// NewName returns a name that no origin ever had.
func NewName() string { return prefix + strings.ToLower(rand.Text()[:nameLength]) + suffix }

// IsName says whether host may be a name that NewName has returned, now or
// before.
func IsName(host string) bool {
	label, ok := strings.CutPrefix(host, prefix)
	label, below := strings.CutSuffix(label, suffix)
	return ok && below && len(label) == nameLength && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
