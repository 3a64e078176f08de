//go:build unix && !linux

package tmux

import (
	"errors"
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

// awaitHangup returns true when fd hangs up, and false when stop does or kqueue(2)
// fails. poll(2) would return at once, again and again, while the program has not
// read its input.
func awaitHangup(fd, stop int) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	changes := make([]unix.Kevent_t, 2)
	unix.SetKevent(&changes[0], fd, unix.EVFILT_READ, unix.EV_ADD|unix.EV_CLEAR)
	unix.SetKevent(&changes[1], stop, unix.EVFILT_READ, unix.EV_ADD)
	for events := make([]unix.Kevent_t, 2); ; changes = nil {
		n, err := unix.Kevent(queue, changes, events, nil)
		if errors.Is(err, unix.EINTR) {
			n = 0
		} else if err != nil {
			return false
		}
		for _, e := range events[:n] {
			switch {
			case e.Flags&unix.EV_ERROR != 0 || e.Ident == uint64(stop):
				return false
			case e.Flags&unix.EV_EOF != 0:
				return true
			}
		}
	}
}
