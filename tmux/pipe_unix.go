//go:build unix

package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/terminal/host"
)

// A pane has one pipe. If a user gives the pane another or removes it, ours
// ends. It also ends with the pane; then the launcher reports that too. So when
// the pipe has ended, the reader waits a moment for that report, and otherwise
// pipes the pane again.

const (
	// goneTime is how long to wait for the report that the pane is gone.
	goneTime = 200 * time.Millisecond
	// pipeAgain is how long to wait before each further try.
	pipeAgain = time.Second
)

// awaitPipe waits until it has piped the pane to this process again, and
// returns host.ErrGap; or until the terminal has ended, and returns io.EOF.
func (t *paneTerminal) awaitPipe() error {
	for wait := goneTime; ; wait = pipeAgain {
		if err := t.awaitGone(wait); err != nil {
			return err
		}
		if err := t.pipeAnew(); err == nil {
			return host.ErrGap
		}
	}
}

// awaitGone waits for the terminal's end, and returns nil if it has not come in
// time.
func (t *paneTerminal) awaitGone(wait time.Duration) error {
	until := time.Now().Add(wait)
	timer := time.AfterFunc(wait, t.stir)
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch now := time.Now(); {
		case t.gone.Load() || t.ending.Load():
			return io.EOF
		case !t.deadline.IsZero() && now.After(t.deadline):
			return os.ErrDeadlineExceeded
		case !now.Before(until):
			return nil
		}
		t.stirred.Wait()
	}
}

// stir wakes goroutines that wait for t.stirred.
func (t *paneTerminal) stir() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stirred.Broadcast()
}

// pipeAnew pipes the pane to this process, and passes the new pipe to the
// launcher, for an owner that replaces this one.
func (t *paneTerminal) pipeAnew() error {
	ctx, cancel := context.WithTimeout(context.Background(), meetTime)
	defer cancel()
	exe, err := executable()
	if err != nil {
		return err
	}
	defer private.Expose(exe)()
	ln, err := ipc.Listen(t.PipeSocket)
	if err != nil {
		return err
	}
	defer ln.Close()
	c := client{tmux: t.Tmux.Tmux, socket: t.Tmux.Socket}
	revive(ctx, t.Tmux.Sessions, c)
	// Another server may run by now, with a pane of the same id.
	if _, err := c.run(ctx, "if-shell", "-F", "#{==:#{pid},"+strconv.Itoa(t.Server)+"}",
		"pipe-pane -O -t "+t.Pane+" "+quote(pipeCommand(exe, t.PipeSocket))); err != nil {
		return err
	}
	pipe, err := acceptPipe(ctx, ln)
	if err != nil {
		return err
	}
	if err := sendFile(t.conn, order{Pipe: true}, pipe); err != nil {
		t.lost.Store(true) // Reap sees the launcher's end too
	}
	return t.usePipe(pipe)
}

// acceptPipe accepts the connection of a pipe's helper and returns the pipe.
func acceptPipe(ctx context.Context, ln *net.UnixListener) (*os.File, error) {
	deadline, _ := ctx.Deadline()
	ln.SetDeadline(deadline)
	conn, err := ln.AcceptUnix()
	if err != nil {
		return nil, err
	}
	defer conn.Close() // lets the helper end
	conn.SetDeadline(deadline)
	if err := ipc.CheckPeer(conn); err != nil {
		return nil, err
	}
	r := &hearer{conn: conn}
	defer r.drop()
	var g greeting
	if err := r.next(&g); err != nil {
		return nil, err
	}
	if g.Role != rolePipe {
		return nil, fmt.Errorf("got %q instead of the pipe", g.Role)
	}
	return r.file()
}

// usePipe reads from pipe from now on, and closes the pipe before. It reopens
// pipe in non-blocking mode, since a call of its Fd may have made it blocking.
func (t *paneTerminal) usePipe(pipe *os.File) error {
	fd, err := unix.FcntlInt(pipe.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	pipe.Close()
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return err
	}
	pipe = os.NewFile(uintptr(fd), "pipe")
	raw, err := pipe.SyscallConn()
	if err != nil {
		return errors.Join(err, pipe.Close())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pipe != nil {
		t.pipe.Close()
	}
	t.pipe, t.raw = pipe, raw
	return pipe.SetDeadline(t.deadline)
}

// rawPipe returns the present pipe.
func (t *paneTerminal) rawPipe() syscall.RawConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw
}

// lateBytes is more than a pane's pipe holds. More bytes after the end of the
// terminal are not the program's, but come from a program that a user runs
// there by hand.
const lateBytes = 256 << 10

// readPipe takes the output that there is. Once the terminal has ended, it only
// takes what is in the pipe by then, because other processes may hold the pipe
// open.
func (t *paneTerminal) readPipe(p []byte) (n int, err error) {
	late := t.gone.Load()
	if rawErr := t.rawPipe().Control(func(fd uintptr) { n, err = readNow(int(fd), p) }); rawErr != nil {
		return 0, rawErr
	}
	if late {
		t.late += n
	}
	switch {
	case late && (err == unix.EAGAIN || t.late > lateBytes):
		return 0, io.EOF
	case err == unix.EAGAIN:
		return 0, nil
	}
	return n, err
}

// readNow reads what there is, up to len(p), without blocking. It returns
// unix.EAGAIN if that is nothing, and io.EOF at the end of the pipe or on any
// other error.
func readNow(fd int, p []byte) (n int, err error) {
	for n < len(p) {
		k, err := unix.Read(fd, p[n:])
		switch {
		case err == unix.EINTR:
		case n == 0 && err == unix.EAGAIN:
			return 0, err
		case n == 0 && (err != nil || k == 0):
			return 0, io.EOF
		case err != nil || k == 0:
			return n, nil
		default:
			n += k
		}
	}
	return n, nil
}

// markScanner finds the mark in a stream that may be split anywhere.
type markScanner struct {
	mark  []byte
	held  []byte // a tail that may be the mark's beginning
	found bool
}

// scan returns the output in p. It holds back a tail that may begin the mark
// until more comes. It drops everything after the mark.
func (m *markScanner) scan(p []byte) []byte {
	if m.found {
		return nil
	}
	p = append(m.held, p...)
	if before, _, ok := bytes.Cut(p, m.mark); ok {
		m.found, m.held = true, nil
		return before
	}
	n := partialSuffix(p, m.mark)
	m.held = append([]byte(nil), p[len(p)-n:]...)
	return p[:len(p)-n]
}

// rest returns what is held back. Call it at the end of the stream.
func (m *markScanner) rest() []byte {
	held := m.held
	m.held = nil
	return held
}

// partialSuffix returns the length of the longest suffix of p that is a proper
// prefix of start.
func partialSuffix(p, start []byte) int {
	for n := min(len(p), len(start)-1); n > 0; n-- {
		if bytes.HasPrefix(start, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
