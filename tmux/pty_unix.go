//go:build unix

package tmux

import (
	"errors"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/terminal/vt"
)

var textWithScrollback = vt.TextOptions{Scrollback: true}

// openPTY opens a pseudo-terminal of this size. The master does not block, so
// that closing it wakes whoever reads or writes.
func openPTY(size terminal.Size) (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		if err = unix.SetNonblock(fd, true); err == nil {
			master = os.NewFile(uintptr(fd), blocking.Name())
			err = setSize(master, size)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, slave.Close())
	}
	return master, slave, nil
}

// setSize does not use Fd, which would make the file block again.
func setSize(f *os.File, size terminal.Size) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var setErr error
	err = raw.Control(func(fd uintptr) {
		setErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{
			Row: size.Rows, Col: size.Cols, Xpixel: size.XPixels, Ypixel: size.YPixels,
		})
	})
	return errors.Join(err, setErr)
}

// clientAttr gives a tmux client its terminal.
func clientAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}
