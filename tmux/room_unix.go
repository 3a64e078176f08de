//go:build unix

package tmux

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tmux keeps what is typed at a program that does not read, without a bound and
// without a word. So how much that can be is decided here:
//
//  1. What is typed is counted from when the program had last read all that its
//     terminal has.
//  2. Where that would pass aheadBytes, it waits until the program has read all,
//     and a moment later still: what tmux keeps comes to the terminal as soon as
//     there is room.
//
// A terminal that is read line by line tells of whole lines alone. Of a line
// that does not end the kernel drops what has no room, as on any terminal.

const (
	// aheadBytes is how much may be typed ahead of a program; a PTY takes about
	// as much.
	aheadBytes = 64 << 10
	// firstLook and lastLook are how soon and how rarely a program that does not
	// read is looked at.
	firstLook = time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// room waits until n more bytes may be typed. Called with input.whole held.
func (t *paneTerminal) room(n int) error {
	if t.unread() == 0 {
		t.ahead = 0
	}
	if t.ahead+n > aheadBytes {
		if err := t.awaitRead(); err != nil {
			return err
		}
		t.ahead = 0
	}
	t.ahead += n
	return nil
}

// unread is how much the program has not read of its terminal, 0 where that
// does not say.
func (t *paneTerminal) unread() (n int) {
	raw, err := t.tty.SyscallConn()
	if err != nil {
		return 0
	}
	err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), inputQueue) })
	if err != nil { // it is closed
		return 0
	}
	return n
}

// awaitRead waits until the program has read all, at two looks in a row.
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
