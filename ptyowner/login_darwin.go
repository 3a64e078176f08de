package ptyowner

import "golang.org/x/sys/unix"

// resetIgnored: the runtime catches every signal that there is here.
func resetIgnored() {}

// maxInherited is one past the highest descriptor that a starter may have
// left open to us by mistake.
const maxInherited = 1024

// closeOnExec sees to it that the program inherits nothing but its terminal.
func closeOnExec() {
	for fd := 3; fd < maxInherited; fd++ {
		unix.CloseOnExec(fd)
	}
}

// closeInherited closes the descriptors from first on that a starter has left
// open to us by mistake: those that are not close-on-exec, as all are that
// this process has opened itself.
func closeInherited(first int) {
	for fd := first; fd < maxInherited; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// setUTF8 tells the terminal that a character may have several bytes, so that
// erasing one takes all of them, as every terminal emulator does.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TIOCSETA, t)
}
