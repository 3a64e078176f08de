package ptyowner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"

	"middleman/terminal"
	"middleman/terminal/host"
)

// Main is the owner process. Windows has none yet.
func Main([]string, string, ...host.Host) int {
	fmt.Fprintln(os.Stderr, usable())
	return 1
}

func usable() error {
	return fmt.Errorf("host terminals by pty-owner on Windows: %w", errors.ErrUnsupported)
}

// Start starts a session; see terminal.Backend.
func (b *Backend) Start(_ context.Context, spec terminal.Spec) (terminal.Status, error) {
	return terminal.Status{}, &terminal.StartError{Session: spec.ID, Step: "choose backend", Err: usable()}
}

func wentAway(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

func strays(stateDir) ([]int, error) { return nil, nil }

func stopStrays(stateDir, time.Duration) []int { return nil }

func bootTime() time.Time { return time.Time{} }

func imageOf(os.FileInfo) string { return "" }

func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }
