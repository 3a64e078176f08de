//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package viewer

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// setTermiosDiscard drops what was typed and not read.
	setTermiosDiscard = unix.TIOCSETAF
)
