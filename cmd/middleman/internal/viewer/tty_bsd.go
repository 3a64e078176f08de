//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package viewer

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// setTermiosDiscard drops input that was not read.
	setTermiosDiscard = unix.TIOCSETAF
)
