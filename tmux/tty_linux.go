package tmux

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// inputQueue gets the number of bytes to read from a terminal
	// (ioctl_tty(2)).
	inputQueue = unix.TIOCINQ
)

// pipeBuf is PIPE_BUF: how many bytes one write to a FIFO writes atomically
// (pipe(7)).
const pipeBuf = 4096

// leaveTerminal gives up the controlling terminal, so that the program can
// have it in a session of its own.
func leaveTerminal() error { return unix.IoctlSetInt(int(os.Stdin.Fd()), unix.TIOCNOTTY, 0) }

// programAttr makes the program the leader of a session and foreground group of
// its own. Its process group is orphaned then, so that job control does not
// stop it: no shell would continue it.
func programAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }

// awaitHangup returns true when fd hangs up, and false when stop does or poll(2)
// fails.
func awaitHangup(fd, stop int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd)}, {Fd: int32(stop), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		if err == nil && fds[0].Revents != 0 {
			return true
		}
		if err == nil && fds[1].Revents != 0 {
			return false
		}
	}
}
