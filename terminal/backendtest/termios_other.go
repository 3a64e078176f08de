//go:build unix && !linux

package backendtest

import "golang.org/x/sys/unix"

// The requests of tty(4) for a terminal's modes.
const (
	ioctlGetTermios = unix.TIOCGETA
	ioctlSetTermios = unix.TIOCSETA
)
