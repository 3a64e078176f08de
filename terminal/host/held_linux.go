package host

import "golang.org/x/sys/unix"

// inputQueue gets the number of bytes to read from a terminal (ioctl_tty(2)).
const inputQueue = unix.TIOCINQ

// The actions of TCXONC.
const (
	tcooff = 0
	tcoon  = 1
)

func holdOutput(fd int, hold bool) error {
	action := tcoon
	if hold {
		action = tcooff
	}
	return unix.IoctlSetInt(fd, unix.TCXONC, action)
}

func dropInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
