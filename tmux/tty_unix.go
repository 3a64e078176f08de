//go:build unix

package tmux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// termName is the terminal that tmux is: Home, End and a few others differ
// from xterm's. Where its description is missing, screen's is near enough.
func termName() string {
	for _, root := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo"} {
		for _, sub := range []string{"/t/", "/74/"} { // macOS names them by the letter's code
			if _, err := os.Stat(root + sub + "tmux-256color"); err == nil {
				return "tmux-256color"
			}
		}
	}
	return "screen-256color"
}

// unstopTerminal makes output flow again where the program or the user has
// stopped it (ctrl-s), and lets the marker pass as it is.
func unstopTerminal(f *os.File) {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return
	}
	t.Iflag &^= unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.TOSTOP
	// Where it fails the marker may be late; it is not lost.
	unix.IoctlSetTermios(int(f.Fd()), setTermios, t)
}

// closeTerminal lets go of the pane's terminal.
func closeTerminal() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		dup2(int(null.Fd()), fd)
	}
	null.Close()
}

// watchTerminal calls gone once when the pane's terminal has lost its other
// end, and returns how to wait for that to be over.
func watchTerminal(tty *os.File, gone func()) (join func()) {
	stop, wake, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() { // joined by join
		defer close(done)
		if pollHangup(int(tty.Fd()), int(stop.Fd())) {
			gone()
		}
	}()
	return func() {
		wake.Close()
		<-done
		stop.Close()
	}
}

// pollHangup returns true when fd hangs up, false when stop does.
func pollHangup(fd, stop int) bool {
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
