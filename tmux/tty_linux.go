package tmux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// inputQueue asks how much can be read of a terminal (ioctl_tty(2)).
	inputQueue = unix.TIOCINQ
)

// pipeBuf is what is written to a FIFO at once, PIPE_BUF.
const pipeBuf = 4096

// leaveTerminal gives up the controlling terminal, so that the program can
// have it in a session of its own.
func leaveTerminal() error { return unix.IoctlSetInt(int(os.Stdin.Fd()), unix.TIOCNOTTY, 0) }

// programAttr makes the program the leader of a session and foreground group
// of its own, as on any terminal: nothing stops it whom nobody would continue.
func programAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }
