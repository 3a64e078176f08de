//go:build unix

package runtime

import (
	"os"

	"golang.org/x/sys/unix"
)

// polled returns f as a file for whose bytes Go's poller waits, where f is a pipe or
// a socket. A read of f itself, as of any standard stream, blocks a thread: what it
// reads is then passed on by another thread, which has to be woken up for each key
// that is typed. polled takes f over.
func polled(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f // others may use a terminal or a file at the same time
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return f
	}
	if unix.SetNonblock(fd, true) != nil {
		unix.Close(fd)
		return f
	}
	f.Close()
	return os.NewFile(uintptr(fd), f.Name())
}
