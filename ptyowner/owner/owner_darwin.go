package owner

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
)

// lending is empty here: poll(2) does not support terminals on this system, so
// each connection has a goroutine of its own that reads it.
type lending struct{}

type backFrame struct{}

func (*viewer) makeLendable(*net.UnixConn) {}

func (v *viewer) nextFrame() (wire.Type, []byte, error) { return v.r.Read(wire.MaxFrame) }

func (*owner) giveBack(backFrame) {}

func (o *owner) awaitOutput() error { return o.term.Await() }

// newDevice takes over the descriptor of a terminal. On error it closes it.
func newDevice(fd int) (device, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pty"), nil
}

// processes lists the processes of the session, also those that have ended:
// those whose session or process group is the program's, the owner's children,
// and all descendants of both.
func (o *owner) processes() ([]proc.Process, error) {
	t, err := proc.All()
	if err != nil {
		return nil, err
	}
	members := make(map[int]bool)
	for _, p := range t {
		if p.PID != os.Getpid() && (p.Session == o.pid || p.Group == o.pid) {
			members[p.PID] = true
		}
	}
	return t.Below(os.Getpid(), members), nil
}

// resetIgnored does nothing: the runtime catches every signal of this system.
func resetIgnored() {}

// maxInherited is one past the highest descriptor that a starter may have left
// open by mistake.
const maxInherited = 1024

// closeOnExec makes the program inherit no descriptor but its terminal.
func closeOnExec() {
	for fd := 3; fd < maxInherited; fd++ {
		unix.CloseOnExec(fd)
	}
}

// closeInherited closes the descriptors from first on that the starter left
// open by mistake: those that are not close-on-exec. All that this process
// opened itself are close-on-exec.
func closeInherited(first int) {
	for fd := first; fd < maxInherited; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// setUTF8 tells the terminal driver that a character may have several bytes, so
// that erasing a character removes all of them, as in every terminal emulator.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TIOCSETA, t)
}

// This system has no huge pages, and no way to drop clean text from memory that
// is worth a call.

func refuseHugePages() {}

// unmapText returns 0: it does not measure memory here.
func unmapText() (own uint64) { return 0 }

// sealedFile returns a new file that holds data and has no name, so that no
// other process can open it: this system has no sealed memory files.
func sealedFile(d state.Dir, data []byte) (*os.File, error) {
	file, err := os.CreateTemp(d.Path, ".handover-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(file.Name()); err == nil {
		_, err = file.Write(data)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// checkSealed does nothing: this system has no seals.
func checkSealed(*os.File) error { return nil }

// openSelf opens the executable that this process was started from.
func openSelf() (file *os.File, path string, err error) {
	if path, err = os.Executable(); err != nil {
		return nil, "", err
	}
	file, err = os.Open(path)
	return file, path, err
}

// descriptorPath fails: this system executes files only by name.
func descriptorPath(file *os.File) (string, error) {
	return "", fmt.Errorf("%s was replaced meanwhile", file.Name())
}
