package ptyowner

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

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
