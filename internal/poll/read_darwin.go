package poll

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadNow reads from a descriptor in non-blocking mode. If there is nothing to
// read it returns unix.EAGAIN; at the end of the stream it returns 0.
func ReadNow(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

// WriteNow writes as much of p as a connection takes without waiting, and
// returns how much. For a broken connection it returns 0: a later blocking call
// returns the error.
func WriteNow(conn syscall.RawConn, p []byte) (n int) {
	_ = conn.Control(func(fd uintptr) { n, _ = unix.Write(int(fd), p) }) // a closed connection takes nothing
	return max(n, 0)
}

// More would wait briefly for a stream's next bytes. It returns false, because
// the shortest wait that this system has, a millisecond, is too long.
func More(int) bool { return false }
