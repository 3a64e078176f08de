package ptyowner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/windows"

	"middleman/terminal"
)

func usable() error {
	return fmt.Errorf("host terminals by pty-owner on Windows: %w", errors.ErrUnsupported)
}

// Start starts a session; see terminal.Backend.
func (b *Backend) Start(_ context.Context, spec terminal.Spec) (terminal.Status, error) {
	return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "choose backend", Err: usable()}
}

func wentAway(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

func bootTime() time.Time { return time.Time{} }
