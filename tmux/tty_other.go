//go:build unix && !linux

package tmux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// inputQueue asks how much can be read of a terminal (FIONREAD).
	inputQueue = 0x4004667f
)

// pipeBuf is what is written to a FIFO at once, the least PIPE_BUF that there
// is.
const pipeBuf = 512

// leaveTerminal does nothing: where the end of a session's leader revokes its
// terminal, the launcher stays the leader, or the end marker would be lost.
func leaveTerminal() error { return nil }

// programAttr keeps the program in the launcher's group, the foreground one.
func programAttr() *syscall.SysProcAttr { return nil }

func dup2(from, to int) error { return unix.Dup2(from, to) }
