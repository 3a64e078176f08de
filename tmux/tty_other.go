//go:build unix && !linux

package tmux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// inputQueue gets the number of bytes to read from a terminal (FIONREAD).
	inputQueue = 0x4004667f
)

// pipeBuf is how many bytes one write to a FIFO writes atomically: the least
// PIPE_BUF of any system.
const pipeBuf = 512

// leaveTerminal does nothing. On these systems the end of a session's leader
// may revoke its terminal. So the launcher stays the leader, or the mark would
// be lost.
func leaveTerminal() error { return nil }

// programAttr keeps the program in the launcher's group, the foreground one.
func programAttr() *syscall.SysProcAttr { return nil }

func dup2(from, to int) error { return unix.Dup2(from, to) }
