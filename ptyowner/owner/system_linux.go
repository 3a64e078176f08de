package owner

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"middleman/internal/cgroup"
	"middleman/internal/proc"
)

// processes lists the processes of the session, also those that have ended: all
// descendants of the host's root process, which is a subreaper so that none is
// missed, and the processes in the session's cgroup, if there is one. It leaves
// out the owners of other sessions that were started within this one, and their
// processes.
func (o *owner) processes() ([]proc.Process, error) {
	t, err := proc.All()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	root, spare := o.term.Root()
	if root == 0 {
		found, _, err := o.dir.StrayProcesses()
		return found, err
	}
	var members map[int]bool
	if o.dir.HasScope() {
		members = cgroup.Find(o.spec.ID).Members()
	}
	found := t.Below(root, members)
	return t.Without(found, func(p proc.Process) bool {
		return root != self && p.PID == self || p.PID == spare || o.dir.IsOtherOwner(p)
	}), nil
}

// resetIgnored sets the default action for each signal that is still ignored.
// The runtime does not touch signals 32 and 33, which the C library uses, and
// the starter may have ignored them (rt_sigaction(2)).
func resetIgnored() {
	const sigIgn = 1
	for sig := uintptr(1); sig <= 64; sig++ {
		// Eight words are enough for the kernel's struct sigaction on every
		// architecture. The first is the handler; all zero is SIG_DFL.
		var action, defaultAction [8]uint64
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == sigIgn {
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0)
		}
	}
}

// closeOnExec makes the program inherit no descriptor but its terminal.
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

// openDescriptors lists the open descriptors; the one that it reads them with
// is among them, but closed by then.
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

// closeInherited closes the descriptors from first on that the starter left
// open by mistake: those that are not close-on-exec. All that this process
// opened itself are close-on-exec.
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

// setUTF8 tells the terminal driver that a character may have several bytes, so
// that erasing a character removes all of them, as in every terminal emulator.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
