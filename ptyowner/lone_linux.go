package ptyowner

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// Alone implements terminal.LoneAttachment.
func (a *attachment) Alone() error {
	conn, ok := a.c.conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("wait for session %s alone: %w", a.c.session, errors.ErrUnsupported)
	}
	file, err := quietConn(conn)
	if err != nil {
		return fmt.Errorf("wait for session %s alone: %w", a.c.session, err)
	}
	a.c.conn, a.c.raw = file, rawPollFile{file}
	a.c.r = wire.NewReaderFrom(a.c.r.Buffered(), file)
	return nil
}

// ReceiveOr implements terminal.LoneAttachment.
func (a *attachment) ReceiveOr(fds ...int) (m terminal.Message, ready int, err error) {
	file, ok := a.c.conn.(*pollFile)
	if !ok || a.last.Load() {
		m, err = a.Receive()
		return m, -1, err
	}
	a.snapshot = a.snapshot[:0]
	for {
		if ready, err = file.awaitOr(fds); err != nil || ready >= 0 {
			break
		}
		var done bool
		if done, m, err = a.receiveNow(file); done || err != nil {
			return m, -1, err
		}
	}
	if err != nil {
		err = unreachable(a.c.session, "read from owner", err)
	}
	return m, ready, err
}

// receiveNow takes what has come of the next frame; done is false where that
// is no message yet.
func (a *attachment) receiveNow(file *pollFile) (done bool, m terminal.Message, err error) {
	file.noWait = true
	t, payload, err := a.c.r.Read(wire.MaxFrame)
	file.noWait = false
	switch {
	case errors.Is(err, errWait):
		return false, m, nil
	case err != nil:
		return false, m, unreachable(a.c.session, "read from owner", err)
	}
	return a.onFrame(t, payload)
}

// awaitOr waits until f can be read, then ready is -1, or one of fds, then it
// is its index.
func (f *pollFile) awaitOr(fds []int) (ready int, err error) {
	if !f.acquire() {
		return -1, os.ErrClosed
	}
	defer f.release()
	for {
		f.turn()
		left, err := f.left(toRead, true)
		if err != nil {
			return -1, err
		}
		polled := f.appendPoll(f.polled[:0])
		for _, fd := range fds {
			polled = append(polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		f.polled = polled
		if err = f.ppoll(polled, left); err != nil {
			clear(polled)
		}
		f.looked(toRead, polled[1].Revents != 0)
		if err != nil && err != unix.EINTR {
			return -1, os.NewSyscallError("ppoll", err)
		}
		for i, p := range polled[2:] {
			if p.Revents != 0 {
				return i, nil
			}
		}
		if polled[0].Revents != 0 {
			return -1, nil
		}
	}
}
