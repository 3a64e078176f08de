//go:build unix

package host

import "golang.org/x/sys/unix"

// IsReady reports whether poll(2) tells one of these events of a descriptor that
// is read.
func IsReady(fd uintptr, events int16) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	unix.Poll(fds, 0) // if a signal interrupts it, Revents stays 0
	return fds[0].Revents&events != 0
}
