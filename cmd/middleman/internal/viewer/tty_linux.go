package viewer

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// setTermiosDiscard drops what was typed and not read.
	setTermiosDiscard = unix.TCSETSF
)
