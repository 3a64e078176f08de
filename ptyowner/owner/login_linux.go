package owner

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resetIgnored gives each signal that is ignored still its default action. The
// runtime leaves alone signals 32 and 33, which the C library uses, and whoever
// started us may have ignored them (rt_sigaction(2)).
func resetIgnored() {
	const sigIgn = 1
	for sig := uintptr(1); sig <= 64; sig++ {
		// Enough for struct sigaction of the kernel on every architecture. Its
		// first word is the handler; all zero is SIG_DFL.
		var action, defaultAction [8]uint64
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == sigIgn {
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0)
		}
	}
}

// closeOnExec sees to it that the program inherits nothing but its terminal.
func closeOnExec() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for _, fd := range openDescriptors() { // before Linux 5.11
		if fd >= 3 {
			unix.CloseOnExec(fd)
		}
	}
}

// openDescriptors lists those that are open, and one more or less.
func openDescriptors() []int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		logf("list open descriptors: %v", err)
	}
	var fds []int
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// closeInherited closes the descriptors from first on that a starter has left
// open to us by mistake: those that are not close-on-exec, as all are that
// this process has opened itself.
func closeInherited(first int) {
	for _, fd := range openDescriptors() {
		if fd < first {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	closeOnExec()
}

// setUTF8 tells the terminal that a character may have several bytes, so that
// erasing one takes all of them, as every terminal emulator does.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
