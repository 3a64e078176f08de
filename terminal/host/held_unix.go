//go:build unix

package host

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// WaitStatus is how a process ended.
type WaitStatus = unix.WaitStatus

// How input is typed while the program cannot print:
//
//  1. The terminal driver holds the program's output: from here on a write of the
//     program blocks (tcflow(3)).
//  2. What it has printed by then is waited for (settle), read and compared (may).
//  3. The input is typed.
//  4. TypeHeld waits until the program has begun to read it. A program that draws
//     something new instead waits in its write, and does not read: then what it
//     has not read of the input is thrown away (tcflush(3)).
//  5. The output flows again.
//
// So a program that reads and draws in one thread reads the input as what showed
// in step 2, and never as what it draws later. A program that goes on reading
// while a write of it waits is not known to do so.

const (
	// heldTime is how long the program has to begin to read.
	heldTime = 300 * time.Millisecond
	// heldPoll is how often to look whether it has, since there is no event.
	heldPoll = time.Millisecond
)

// TypeHeld types by write while the output of tty, the program's side, is held.
// settle returns when what was printed before can be read; may decides. Errors
// of both are returned. If the program has not read what was typed before, n is
// 0 without an error. If it does not begin to read in heldTime, the error is
// terminal.ErrChanged, and nothing is typed. If it read a part so soon that nobody saw
// it begin, and no more in that time, n is that part: the rest is thrown away. In a
// terminal that edits lines, a line without its end may be counted as read.
func TypeHeld(tty *os.File, settle, may func() error, write func() (int, error)) (n int, err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { n, err = typeHeld(int(fd), settle, may, write) })
	if controlErr != nil {
		return 0, os.ErrClosed
	}
	return n, err
}

func typeHeld(fd int, settle, may func() error, write func() (int, error)) (n int, err error) {
	if err := holdOutput(fd, true); err != nil {
		return 0, os.NewSyscallError("hold output", err)
	}
	defer holdOutput(fd, false) // it fails only for a terminal that has hung up
	time.Sleep(heldPoll)        // a write that had begun ends
	if err := settle(); err != nil {
		return 0, err
	}
	if err := may(); err != nil || unreadInput(fd) > 0 {
		return 0, err
	}
	if n, err = write(); err != nil {
		return n, err
	}
	if err := settle(); err != nil {
		return n, err
	}
	return awaitRead(fd, n)
}

// awaitRead does step 4. n bytes were typed, and it returns how many of these count.
func awaitRead(fd, n int) (int, error) {
	most := 0
	for began := time.Now(); ; time.Sleep(heldPoll) {
		switch left := unreadInput(fd); {
		case left < most || left == 0:
			return n, nil
		case time.Since(began) > heldTime:
			_ = dropInput(fd)
			if left < n {
				return n - left, nil
			}
			return 0, fmt.Errorf("%w: its program did not read for %s while its output was held", terminal.ErrChanged, heldTime)
		default:
			most = left
		}
	}
}

// LetFlow lets the output of tty flow again, where an owner was killed that held
// it.
func LetFlow(tty *os.File) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = holdOutput(int(fd), false) }) // the terminal may have hung up
}

// unreadInput returns how many bytes of its input the program has not read. On
// Linux poll(2) first passes on what is on its way from the other side.
func unreadInput(fd int) int {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, _ = unix.Poll(fds, 0)
	n, err := unix.IoctlGetInt(fd, inputQueue)
	if err != nil {
		return 0
	}
	return n
}
