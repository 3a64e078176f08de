//go:build unix

package viewer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// Size returns the size of the first of files that is a terminal, or the zero
// Size.
func Size(files ...*os.File) terminal.Size {
	for _, f := range files {
		if w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && w.Col > 0 && w.Row > 0 {
			return terminal.Size{Cols: w.Col, Rows: w.Row, XPixels: w.Xpixel, YPixels: w.Ypixel}
		}
	}
	return terminal.Size{}
}

// DiscardInput drops a terminal's unread input.
func DiscardInput(f *os.File) error {
	settings, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err == nil {
		err = unix.IoctlSetTermios(int(f.Fd()), setTermiosDiscard, settings)
	}
	if err != nil {
		return fmt.Errorf("discard what was typed: %w", err)
	}
	return nil
}

// rawMode makes the terminal pass every byte unchanged. restore undoes that.
func rawMode(f *os.File) (restore func() error, err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("read terminal settings: %w", err)
	}
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag &^= unix.CSIZE | unix.PARENB
	raw.Cflag |= unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, fmt.Errorf("set terminal to raw mode: %w", err)
	}
	return func() error {
		if err := unix.IoctlSetTermios(fd, setTermios, before); err != nil {
			return fmt.Errorf("restore terminal settings: %w", err)
		}
		return nil
	}, nil
}

// keyboard reads a terminal. wake ends a blocked read.
type keyboard struct {
	fd         int
	wakeR      *os.File
	wakeW      *os.File
	wakeFD     int
	descriptor []unix.PollFd
	loanR      *os.File // readable while a loan is announced
	loanW      *os.File
	fds        [2]int // of loanR, and fd
}

func newKeyboard(f *os.File) (*keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watch the keyboard: %w", err)
	}
	loanR, loanW, err := os.Pipe()
	if err != nil {
		r.Close()
		w.Close()
		return nil, fmt.Errorf("watch the keyboard: %w", err)
	}
	k := &keyboard{fd: int(f.Fd()), wakeR: r, wakeW: w, wakeFD: int(r.Fd()), loanR: loanR, loanW: loanW}
	k.fds = [2]int{int(loanR.Fd()), k.fd}
	k.descriptor = []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}, {Fd: int32(k.wakeFD), Events: unix.POLLIN}}
	return k, nil
}

// read waits for keys for at most timeout, or for ever if that is negative. It
// returns 0 and nil at the timeout. It returns io.EOF when the terminal is gone
// or wake was called.
func (k *keyboard) read(p []byte, timeout time.Duration) (int, error) {
	for {
		ms := -1
		if timeout >= 0 {
			ms = int(timeout.Milliseconds())
		}
		n, err := unix.Poll(k.descriptor, ms)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for keys: %w", err)
		case n == 0:
			return 0, nil
		case k.descriptor[1].Revents != 0:
			return 0, io.EOF
		}
		n, err = unix.Read(k.fd, p)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, fmt.Errorf("read keys: %w", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// lend wakes receive, which waits, so that it notices the loan.
func (k *keyboard) lend() bool {
	_, err := k.loanW.Write([]byte{0})
	return err == nil
}

// lent consumes the wake-ups of lend.
func (k *keyboard) lent() { k.loanR.Read(make([]byte, 64)) }

// waitFor returns the descriptor to wait for: the keys if they are lent, else
// the announcement of a loan.
func (k *keyboard) waitFor(lent bool) []int {
	if lent {
		return k.fds[1:]
	}
	return k.fds[:1]
}

// readNow reads keys that are ready. It returns 0 if the terminal is gone.
func (k *keyboard) readNow(p []byte) int {
	n, err := unix.Read(k.fd, p)
	if err != nil {
		return 0
	}
	return n
}

// wake ends the current read and all later ones with io.EOF.
func (k *keyboard) wake() { k.wakeW.Close() }

// close closes the pipes. No read may run any more.
func (k *keyboard) close() {
	k.wakeR.Close()
	k.loanR.Close()
	k.loanW.Close()
}

// notifyResize sends to changed when the terminal's size changes. If changed is
// full the signal is dropped, because an earlier one is still to be handled.
func notifyResize(changed chan os.Signal) { signal.Notify(changed, unix.SIGWINCH) }

// hangup is the signal that a terminal sends when it goes away.
const hangup = syscall.SIGHUP
