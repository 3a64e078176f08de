//go:build !unix

package heldport

import (
	"context"
	"errors"
	"net"
	"time"
)

// Command is the name of the hidden command that runs a holder.
const Command = "hold-port"

// Holder is not supported on this system: each server begins at a new origin.
type Holder struct{}

// Find returns ErrNone.
func Find(string) (*Holder, Port, []net.Listener, error) { return nil, Port{}, nil, ErrNone }

// Start returns errors.ErrUnsupported.
func Start(context.Context, string, string, Port, []net.Listener) (*Holder, error) {
	return nil, errors.ErrUnsupported
}

// Keep does nothing.
func (*Holder) Keep(time.Time) error { return nil }

// End does nothing.
func (*Holder) End() error { return nil }

// Gone returns nil, a channel that is never closed.
func (*Holder) Gone() <-chan struct{} { return nil }

// Close does nothing.
func (*Holder) Close() error { return nil }

// Main returns the exit code of a wrong use; no holder runs on this system.
func Main([]string) int { return 2 }
