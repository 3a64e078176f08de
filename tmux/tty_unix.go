//go:build unix

package tmux

import (
	"os"

	"golang.org/x/sys/unix"
)

// termName returns the terminal type of tmux. Home, End and a few other keys
// differ from xterm's. If its description is missing, screen's is similar
// enough.
func termName() string {
	for _, root := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo"} {
		for _, sub := range []string{"/t/", "/74/"} { // macOS names the directory by the letter's code
			if _, err := os.Stat(root + sub + "tmux-256color"); err == nil {
				return "tmux-256color"
			}
		}
	}
	return "screen-256color"
}

// unstopTerminal makes output flow again if the program or the user has stopped
// it (ctrl-s), and lets the mark pass unchanged.
func unstopTerminal(f *os.File) {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return
	}
	t.Iflag &^= unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.TOSTOP
	// If this fails, the mark may be late, but is not lost.
	unix.IoctlSetTermios(int(f.Fd()), setTermios, t)
}

// closeTerminal closes the pane's terminal: it replaces descriptors 0 to 2.
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

// watchTerminal calls gone once when the other end of the pane's terminal is
// closed. join stops the watch, and returns when gone is not running.
func watchTerminal(tty *os.File, gone func()) (join func()) {
	stop, wake, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() { // join waits for it
		defer close(done)
		if awaitHangup(int(tty.Fd()), int(stop.Fd())) {
			gone()
		}
	}()
	return func() {
		wake.Close()
		<-done
		stop.Close()
	}
}
