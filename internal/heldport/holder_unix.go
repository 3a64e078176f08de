//go:build unix

package heldport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
)

const (
	// Command is the hidden command that a holder is.
	Command = "hold-port"
	// readyFD is where a holder says that it listens, or why it does not.
	readyFD   = 3
	readyWord = "ready"
	// firstTime is how long a holder waits for something to hold.
	firstTime = 30 * time.Second
	// lookTime is how often a holder that is alone looks whether anybody can
	// still find it.
	lookTime = 10 * time.Second
	// closePause is between two connections that are closed: to close them is
	// not worth more of the processor.
	closePause = 5 * time.Millisecond
)

// holder is the holder's process.
type holder struct {
	socket string
	at     *net.UnixListener
	inode  uint64
	over   chan struct{} // closed at the end

	mu      sync.Mutex // guards all below
	port    Port
	held    []int          // sockets
	servers int            // connections that have the port
	closing []net.Listener // those that close what connects, while there is no server
	until   *time.Timer
	ended   bool
}

// Main is the holder's process: what the hidden command runs with the path of
// its socket. It returns the process's exit code.
func Main(args []string) int {
	ready := os.NewFile(readyFD, "ready")
	if _, err := ready.Stat(); err != nil || len(args) != 1 {
		fmt.Fprintln(os.Stderr, "hold-port is started by middleman, not by hand")
		return 2
	}
	private.NameProcess()
	unix.CloseOnExec(readyFD)
	// It stays through what ends terminals and their programs.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	h := &holder{socket: args[0], over: make(chan struct{})}
	err := errors.Join(private.Harden(), h.listen())
	if err != nil {
		fmt.Fprint(ready, err)
		return 1
	}
	fmt.Fprint(ready, readyWord)
	ready.Close()
	h.until = time.AfterFunc(firstTime, h.end)
	go h.watch()
	h.serve()
	<-h.over
	return 0
}

// listen takes the socket's path, which is nobody's: its starter is the one
// server of its directories, and has found nobody there.
func (h *holder) listen() error {
	unix.Umask(0o077)
	if err := os.Remove(h.socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: h.socket, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // it may be another's by then
	var st unix.Stat_t
	if err := unix.Lstat(h.socket, &st); err != nil {
		return err
	}
	h.at, h.inode = l, uint64(st.Ino)
	return nil
}

// serve answers servers until the end.
func (h *holder) serve() {
	for {
		c, err := h.at.AcceptUnix()
		if err != nil {
			h.end()
			return
		}
		if checked, err := newConn(c); err == nil {
			go h.converse(checked) // until the server is gone
		}
	}
}

// converse answers one server. From its first request on it has the port, until
// it is gone.
func (h *holder) converse(c conn) {
	defer c.Close()
	has := false
	for {
		m, sockets, err := c.receive()
		if err != nil {
			break
		}
		var answer message
		var pass []int
		switch m.Verb {
		case verbGive:
			err = h.take(m.Port, sockets, &has)
		case verbTake:
			answer.Port, pass, err = h.hand(&has)
		case verbKeep:
			err = h.stay(m.Until)
		case verbEnd:
			h.release()
		default:
			err = fmt.Errorf("unknown request %q", m.Verb)
		}
		if m.Verb != verbGive {
			closeAll(sockets)
		}
		if err != nil {
			answer.Error = err.Error()
		}
		if c.send(answer, pass...) != nil {
			break
		}
		if m.Verb == verbEnd {
			h.end()
		}
	}
	if has {
		h.leave()
	}
}

// take is what a server gives to hold. has is whether it has the port.
func (h *holder) take(port Port, sockets []int, has *bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil || len(sockets) == 0 || port == (Port{}) {
		closeAll(sockets)
		return errors.New("nothing to hold, or something is held already")
	}
	h.port, h.held = port, sockets
	h.servers++
	*has = true
	return nil
}

// hand gives the port to one more server. has is whether it has it.
func (h *holder) hand(has *bool) (Port, []int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil || h.ended || *has {
		return Port{}, nil, errors.New("no port is held, or you have it")
	}
	h.servers++
	*has = true
	for _, l := range h.closing {
		l.Close() // a copy; the sockets go on
	}
	h.closing = nil
	return h.port, h.held, nil
}

// leave is the end of a server; without another what connects is closed.
func (h *holder) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers--; h.servers > 0 || h.ended {
		return
	}
	ls, err := listeners(h.held)
	if err != nil {
		return // who connects waits for the next server
	}
	h.closing = ls
	for _, l := range ls {
		go closeConnections(l)
	}
}

// closeConnections closes all that connects, until l is closed.
func closeConnections(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.(*net.TCPConn).SetLinger(0) // a reset: nothing is kept for it
			c.Close()
		}
		time.Sleep(closePause)
	}
}

// stay changes until when the port is held without a word of a server.
func (h *holder) stay(until time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return errors.New("no port is held")
	}
	h.until.Reset(time.Until(until))
	return nil
}

// watch ends a holder that nobody can find any more.
func (h *holder) watch() {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	for {
		select {
		case <-h.over:
			return
		case <-tick.C:
		}
		var st unix.Stat_t
		if err := unix.Lstat(h.socket, &st); err == unix.ENOENT || err == nil && uint64(st.Ino) != h.inode {
			h.end()
		}
	}
}

// release lets the port go.
func (h *holder) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	for _, l := range h.closing {
		l.Close()
	}
	closeAll(h.held)
}

// end ends the process.
func (h *holder) end() {
	h.release()
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.over:
		return
	default:
	}
	var st unix.Stat_t
	if err := unix.Lstat(h.socket, &st); err == nil && uint64(st.Ino) == h.inode {
		os.Remove(h.socket)
	}
	h.at.Close()
	close(h.over)
}
