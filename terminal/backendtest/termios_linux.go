package backendtest

import "golang.org/x/sys/unix"

// The requests of ioctl_tty(2) for a terminal's modes.
const (
	ioctlGetTermios = unix.TCGETS
	ioctlSetTermios = unix.TCSETS
)
