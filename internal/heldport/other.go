//go:build !unix

package heldport

import (
	"context"
	"errors"
	"net"
	"time"
)

// Command is the hidden command that a holder is.
const Command = "hold-port"

// Holder is what there is none of here: each server begins at a new origin.
type Holder struct{}

// Find finds none.
func Find(string) (*Holder, Port, []net.Listener, error) { return nil, Port{}, nil, ErrNone }

// Start is not supported.
func Start(context.Context, string, string, Port, []net.Listener) (*Holder, error) {
	return nil, errors.ErrUnsupported
}

// Keep does nothing.
func (*Holder) Keep(time.Time) error { return nil }

// End does nothing.
func (*Holder) End() error { return nil }

// Gone is never closed.
func (*Holder) Gone() <-chan struct{} { return nil }

// Close does nothing.
func (*Holder) Close() error { return nil }

// Main is never run.
func Main([]string) int { return 2 }
