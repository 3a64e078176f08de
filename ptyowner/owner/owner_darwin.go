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

// lending is what a viewer lends to readPTY elsewhere. poll(2) knows no
// terminals here, so that each connection has a reader of its own.
type lending struct{}

type backFrame struct{}

func (*viewer) makeLendable(*net.UnixConn) {}

func (v *viewer) nextFrame() (wire.Type, []byte, error) { return v.r.Read(wire.MaxFrame) }

func (*owner) giveBack(backFrame) {}

func (o *owner) readTerminal(p []byte) (int, error) { return o.term.Read(p) }

// newDevice takes over the descriptor of a terminal. On error it is closed.
func newDevice(fd int) (device, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pty"), nil
}

// processes lists the processes of the session, ended ones too: those whose
// session or process group is the program's, the owner's children, and what
// descends from them.
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

// The system has neither huge pages nor a way to unmap clean text that is
// worth a call.

func refuseHugePages() {}

// unmapText knows of no memory.
func unmapText() (own uint64) { return 0 }

// sealedFile is a file that has no name any more, so that nobody else opens it:
// this system has no sealed memory files.
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

// checkSealed: there is nothing to check here.
func checkSealed(*os.File) error { return nil }

// openSelf opens the executable that this process was started from.
func openSelf() (file *os.File, path string, err error) {
	if path, err = os.Executable(); err != nil {
		return nil, "", err
	}
	file, err = os.Open(path)
	return file, path, err
}

// descriptorPath: this system executes files by name alone.
func descriptorPath(file *os.File) (string, error) {
	return "", fmt.Errorf("%s was replaced meanwhile", file.Name())
}
