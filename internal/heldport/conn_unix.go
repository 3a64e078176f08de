//go:build unix

package heldport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
)

// answerTime is how long the other end may take to answer.
const answerTime = 5 * time.Second

// conn carries messages, one at a time in each direction.
type conn struct{ *net.UnixConn }

// newConn returns a conn of c. If the other end is no process of this user, it
// closes c and returns an error.
func newConn(c *net.UnixConn) (conn, error) {
	if err := private.CheckPeer(c); err != nil {
		return conn{}, errors.Join(err, c.Close())
	}
	return conn{c}, nil
}

// send writes m and passes copies of sockets along (SCM_RIGHTS of unix(7)). The
// caller still owns sockets.
func (c conn) send(m message, sockets ...int) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(sockets) > 0 {
		rights = unix.UnixRights(sockets...)
	}
	line = append(line, '\n')
	n, _, err := c.WriteMsgUnix(line, rights, nil)
	if err == nil && n < len(line) {
		_, err = c.Write(line[n:])
	}
	return err
}

// receive reads a message and the sockets that come with it. The caller closes
// these. The error is io.EOF if the connection ends between two messages.
func (c conn) receive() (m message, sockets []int, err error) {
	var line []byte
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxSockets))
	for !bytes.HasSuffix(line, []byte{'\n'}) {
		n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
		n, oobn = max(n, 0), max(oobn, 0) // they are -1 with an error
		more, rightsErr := openRights(oob[:oobn])
		sockets = append(sockets, more...)
		line = append(line, buf[:n]...)
		switch {
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		case err == nil && n == 0:
			err = io.EOF
		case err == nil && (rightsErr != nil || flags&unix.MSG_CTRUNC != 0 || len(sockets) > maxSockets):
			err = errors.Join(errors.New("more was passed along than the sockets of a port"), rightsErr)
		case err == nil && len(line) > maxMessage:
			err = fmt.Errorf("a message of over %d bytes", maxMessage)
		}
		if err != nil {
			closeAll(sockets)
			return message{}, nil, err
		}
	}
	if m, err = parseMessage(line); err != nil {
		closeAll(sockets)
		return message{}, nil, err
	}
	return m, sockets, nil
}

// openRights returns the file descriptors in control messages (SCM_RIGHTS of
// unix(7)). The caller closes them, also after an error.
func openRights(oob []byte) (sockets []int, err error) {
	controls, err := unix.ParseSocketControlMessage(oob)
	for _, control := range controls {
		fds, rightsErr := unix.ParseUnixRights(&control)
		err = errors.Join(err, rightsErr)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			sockets = append(sockets, fd)
		}
	}
	return sockets, err
}

func closeAll(sockets []int) {
	for _, fd := range sockets {
		unix.Close(fd)
	}
}

// listeners makes listeners from copies of sockets. The caller still owns
// sockets.
func listeners(sockets []int) (ls []net.Listener, err error) {
	for _, fd := range sockets {
		l, err := listener(fd)
		if err != nil {
			for _, l := range ls {
				l.Close()
			}
			return nil, fmt.Errorf("listen on the socket that was handed over: %w", err)
		}
		ls = append(ls, l)
	}
	return ls, nil
}

func listener(fd int) (net.Listener, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(own), "listening socket")
	defer f.Close()
	return net.FileListener(f) // makes a copy of its own
}
