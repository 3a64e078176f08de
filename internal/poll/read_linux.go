package poll

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// moreTime is how long a stream's next bytes are waited for.
const moreTime = 200 * time.Microsecond

// ReadNow reads from a descriptor in non-blocking mode; where there is nothing, it
// returns unix.EAGAIN, and at the end 0. The scheduler is not
// told of a system call that does not block: it would take the processor from
// this thread at each one that a busy machine makes slow.
func ReadNow(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// WriteNow writes what a connection takes without waiting, and returns how much
// that is: 0 also for one that is broken, which whoever waits is told.
func WriteNow(conn syscall.RawConn, p []byte) (n int) {
	_ = conn.Control(func(fd uintptr) { // closed, it takes nothing
		k, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			n = int(k)
		}
	})
	return n
}

// writeFD writes to a descriptor in non-blocking mode.
func writeFD(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// More waits a moment for a stream's next bytes, for moreTime, too short to tell
// the scheduler, and reports whether there is something to read.
func More(fd int) bool {
	return rawPoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, moreTime)
}

// pollNow reports whether one of fds has what is waited for, which it has then.
func pollNow(fds []unix.PollFd) bool { return rawPoll(fds, 0) }

func rawPoll(fds []unix.PollFd, wait time.Duration) bool {
	left := unix.NsecToTimespec(wait.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&left)), 0, 0, 0)
	return errno == 0 && n > 0
}
