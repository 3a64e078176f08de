//go:build unix && !linux

package host

import "golang.org/x/sys/unix"

// inputQueue gets the number of bytes to read from a terminal (FIONREAD).
const inputQueue = 0x4004667f

// flushRead is FREAD, which makes TIOCFLUSH drop input.
const flushRead = 1

func holdOutput(fd int, hold bool) error {
	request := uint(unix.TIOCSTART)
	if hold {
		request = unix.TIOCSTOP
	}
	return unix.IoctlSetInt(fd, request, 0)
}

func dropInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushRead) }
