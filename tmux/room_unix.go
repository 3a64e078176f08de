//go:build unix

package tmux

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tmux buffers input for a program that does not read, without a limit. So the
// owner limits it:
//
//  1. It counts what was typed since the program had last read all input of its
//     terminal.
//  2. If more would pass aheadBytes, it waits until two looks in a row find that
//     the program has read all input. One look is not enough: tmux writes what
//     it buffers to the terminal only when there is room.
//
// In canonical mode (termios(3)) the terminal counts only whole lines. From a
// line without an end the kernel drops what does not fit its buffer, as on any
// terminal.

const (
	// aheadBytes is how much may be typed ahead of the program, about as much
	// as a PTY buffers.
	aheadBytes = 64 << 10
	// firstLook and lastLook are the shortest and the longest interval at which
	// awaitRead looks at a program that does not read.
	firstLook = time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// room waits until n more bytes may be typed. Called with input.whole held.
func (t *paneTerminal) room(n int) error {
	if t.fits(n) {
		return nil
	}
	if err := t.awaitRead(); err != nil {
		return err
	}
	t.ahead = n
	return nil
}

// fits reports whether n more bytes may be typed now, and counts them. Called
// with input.whole held.
func (t *paneTerminal) fits(n int) bool {
	if t.unread() == 0 {
		t.ahead = 0
	}
	if t.ahead+n > aheadBytes {
		return false
	}
	t.ahead += n
	return true
}

// unread returns how many bytes of its terminal's input the program has not
// read. It returns 0 on an error.
func (t *paneTerminal) unread() (n int) {
	raw, err := t.tty.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), inputQueue) })
	if err != nil { // the terminal is closed
		return 0
	}
	return n
}

// awaitRead waits until two looks in a row find all input read.
func (t *paneTerminal) awaitRead() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for wait, empty := firstLook, 0; ; {
		switch {
		case t.gone.Load() || t.lost.Load():
			return os.ErrClosed
		case !t.deadline.IsZero() && !time.Now().Before(t.deadline):
			return os.ErrDeadlineExceeded
		case t.unread() > 0:
			empty = 0
		case empty > 0:
			return nil
		default:
			empty, wait = 1, firstLook
		}
		look := time.AfterFunc(wait, t.stir)
		t.stirred.Wait()
		look.Stop()
		wait = min(2*wait, lastLook)
	}
}
