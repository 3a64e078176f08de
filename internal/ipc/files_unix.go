//go:build unix

package ipc

import (
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// SendFiles writes p, and with its first bytes passes copies of the file
// descriptors fds (SCM_RIGHTS of unix(7)). The caller still owns fds.
func SendFiles(conn *net.UnixConn, p []byte, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, _, err := conn.WriteMsgUnix(p, rights, nil)
	if err == nil && n < len(p) {
		_, err = conn.Write(p[n:])
	}
	return err
}

// ReceiveFiles reads up to len(p) bytes, and the file descriptors that were passed
// with them. No child process inherits these. The caller closes them. More than
// most descriptors are an error. After an error none is open, and n is 0; at the
// end of the connection the error is io.EOF.
func ReceiveFiles(conn *net.UnixConn, p []byte, most int) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*most))
	n, oobn, flags, _, err := conn.ReadMsgUnix(p, oob)
	if oobn > 0 {
		var rightsErr error
		fds, rightsErr = parseRights(oob[:oobn])
		err = errors.Join(err, rightsErr)
	}
	switch {
	case err != nil:
	case flags&unix.MSG_CTRUNC != 0 || len(fds) > most:
		err = fmt.Errorf("more than %d file descriptors were passed", most)
	case n == 0:
		err = io.EOF
	default:
		return n, fds, nil
	}
	CloseFiles(fds)
	return 0, nil, err
}

// parseRights returns the file descriptors in control messages, also after an
// error.
func parseRights(oob []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	for _, m := range messages {
		more, rightsErr := unix.ParseUnixRights(&m)
		err = errors.Join(err, rightsErr)
		for _, fd := range more {
			unix.CloseOnExec(fd)
			fds = append(fds, fd)
		}
	}
	return fds, err
}

// CloseFiles closes file descriptors.
func CloseFiles(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
