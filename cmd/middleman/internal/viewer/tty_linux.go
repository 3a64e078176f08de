package viewer

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// setTermiosDiscard drops input that was not read.
	setTermiosDiscard = unix.TCSETSF
)
