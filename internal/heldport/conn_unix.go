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

	"middleman/internal/ipc"
)

// answerTime is how long the other end may take to answer.
const answerTime = 5 * time.Second

// conn carries messages, one at a time in each direction.
type conn struct{ *net.UnixConn }

// newConn returns a conn of c. If the other end is no process of this user, it
// closes c and returns an error.
func newConn(c *net.UnixConn) (conn, error) {
	if err := ipc.CheckPeer(c); err != nil {
		return conn{}, errors.Join(err, c.Close())
	}
	return conn{c}, nil
}

// send writes m and passes copies of sockets along. The caller still owns sockets.
func (c conn) send(m message, sockets ...int) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return ipc.SendFiles(c.UnixConn, append(line, '\n'), sockets...)
}

// receive reads a message and the sockets that come with it. The caller closes
// these. The error is io.EOF if the connection ends between two messages.
func (c conn) receive() (m message, sockets []int, err error) {
	var line []byte
	buf := make([]byte, maxMessage)
	for err == nil && !bytes.HasSuffix(line, []byte{'\n'}) {
		var n int
		var more []int
		n, more, err = ipc.ReceiveFiles(c.UnixConn, buf, maxSockets)
		line, sockets = append(line, buf[:n]...), append(sockets, more...)
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			err = io.ErrUnexpectedEOF
		case err == nil && len(sockets) > maxSockets:
			err = errors.New("more descriptors were passed than the sockets of a port")
		case err == nil && len(line) > maxMessage:
			err = fmt.Errorf("a message of over %d bytes", maxMessage)
		}
	}
	if err == nil {
		m, err = parseMessage(line)
	}
	if err != nil {
		ipc.CloseFiles(sockets)
		return message{}, nil, err
	}
	return m, sockets, nil
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
