package poll

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// moreTime is how long More waits for a stream's next bytes.
const moreTime = 200 * time.Microsecond

// ReadNow reads from a descriptor in non-blocking mode. If there is nothing to
// read it returns unix.EAGAIN; at the end of the stream it returns 0. It does
// not tell the scheduler of the system call, because that does not block:
// otherwise the scheduler would take the processor from this thread whenever a
// busy machine makes the call slow.
func ReadNow(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// WriteNow writes as much of p as a connection takes without waiting, and
// returns how much. For a broken connection it returns 0: a later blocking call
// returns the error.
func WriteNow(conn syscall.RawConn, p []byte) (n int) {
	_ = conn.Control(func(fd uintptr) { // a closed connection takes nothing
		k, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			n = int(k)
		}
	})
	return n
}

// writeFD writes to a descriptor in non-blocking mode, like ReadNow reads.
func writeFD(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// More waits up to moreTime for a stream's next bytes and reports whether there
// is something to read. The wait is too short to tell the scheduler of it.
func More(fd int) bool {
	return rawPoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, moreTime)
}

// pollNow reports whether one of fds is ready, and sets its Revents.
func pollNow(fds []unix.PollFd) bool { return rawPoll(fds, 0) }

func rawPoll(fds []unix.PollFd, wait time.Duration) bool {
	left := unix.NsecToTimespec(wait.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&left)), 0, 0, 0)
	return errno == 0 && n > 0
}
