package poll

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadNow reads from a descriptor in non-blocking mode; where there is nothing, it
// returns unix.EAGAIN, and at the end 0.
func ReadNow(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

// WriteNow writes what a connection takes without waiting, and returns how much
// that is: 0 also for one that is broken, which whoever waits is told.
func WriteNow(conn syscall.RawConn, p []byte) (n int) {
	_ = conn.Control(func(fd uintptr) { n, _ = unix.Write(int(fd), p) }) // closed, it takes nothing
	return max(n, 0)
}

// More reports false: it would wait for a stream's next bytes; the shortest wait that the
// system has, a millisecond, is too long.
func More(int) bool { return false }
