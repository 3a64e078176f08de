package ptyowner

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readNow reads from a descriptor in non-blocking mode.
func readNow(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

// writeNow writes what a connection takes without waiting, and returns how much
// that is: 0 also for one that is broken, which whoever waits is told.
func writeNow(conn syscall.RawConn, p []byte) (n int) {
	_ = conn.Control(func(fd uintptr) { n, _ = unix.Write(int(fd), p) }) // closed, it takes nothing
	return max(n, 0)
}

// awaitMore would wait for a stream's next bytes; the shortest wait that the
// system has, a millisecond, is too long.
func awaitMore(int) bool { return false }
