package ptyowner

import (
	"errors"
	"fmt"
	"net"

	"middleman/internal/poll"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// Alone implements terminal.LoneAttachment.
func (a *attachment) Alone() error {
	conn, ok := a.c.conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("wait for session %s alone: %w", a.c.session, errors.ErrUnsupported)
	}
	file, err := poll.TakeConn(conn)
	if err != nil {
		return fmt.Errorf("wait for session %s alone: %w", a.c.session, err)
	}
	if a.c.raw, err = file.SyscallConn(); err != nil {
		return fmt.Errorf("wait for session %s alone: %w", a.c.session, err)
	}
	a.c.conn = file
	a.c.r = wire.NewReaderFrom(a.c.r.Buffered(), file)
	return nil
}

// ReceiveOr implements terminal.LoneAttachment.
func (a *attachment) ReceiveOr(fds ...int) (m terminal.Message, ready int, err error) {
	file, ok := a.c.conn.(*poll.File)
	if !ok || a.last.Load() {
		m, err = a.Receive()
		return m, -1, err
	}
	a.snapshot = a.snapshot[:0]
	for {
		if ready, err = file.AwaitOr(fds); err != nil || ready >= 0 {
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

// receiveNow reads the part of the next frame that has arrived. done is false
// if there is no whole message yet.
func (a *attachment) receiveNow(file *poll.File) (done bool, m terminal.Message, err error) {
	file.NoWait = true
	t, payload, err := a.c.r.Read(wire.MaxFrame)
	file.NoWait = false
	switch {
	case errors.Is(err, poll.ErrWait):
		return false, m, nil
	case err != nil:
		return false, m, unreachable(a.c.session, "read from owner", err)
	}
	return a.onFrame(t, payload)
}
