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

	"middleman/internal/ipc"
	"middleman/internal/private"
)

const (
	// Command is the name of the hidden command that runs a holder.
	Command = "hold-port"
	// readyFD is the file descriptor where a holder writes readyWord once it
	// listens, or else its error.
	readyFD   = 3
	readyWord = "ready"
	// firstTime is how long a new holder runs unless a server calls Keep.
	firstTime = 30 * time.Second
	// lookTime is how often a holder checks that its socket is still in place.
	lookTime = 10 * time.Second
	// closePause is the pause after each connection that a holder closes, to
	// bound its use of the processor.
	closePause = 5 * time.Millisecond
)

// holder is the state of the holder's process.
type holder struct {
	socket string
	at     *net.UnixListener
	inode  uint64
	over   chan struct{} // closed at the end

	mu      sync.Mutex // guards all below
	port    Port
	held    []int          // the listening sockets
	servers int            // connections of servers that have the port
	closing []net.Listener // copies that close what connects while no server runs
	until   *time.Timer
	ended   bool
}

// Main runs a holder until it ends, and returns the exit code. The hidden command
// calls it; its argument is the path of the holder's socket.
func Main(args []string) int {
	ready := os.NewFile(readyFD, "ready")
	if _, err := ready.Stat(); err != nil || len(args) != 1 {
		fmt.Fprintln(os.Stderr, "hold-port is started by middleman, not by hand")
		return 2
	}
	private.NameProcess()
	unix.CloseOnExec(readyFD)
	// The end of a terminal and Ctrl-C must not end the holder.
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

// listen listens at the socket's path, and removes what is there. No other holder
// uses it: the only server of these directories started this one, after it found
// none.
func (h *holder) listen() error {
	unix.Umask(0o077)
	l, err := ipc.Listen(h.socket)
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // another holder may have the path by then
	var st unix.Stat_t
	if err := unix.Lstat(h.socket, &st); err != nil {
		return err
	}
	h.at, h.inode = l, uint64(st.Ino)
	return nil
}

// serve accepts connections from servers until the holder ends.
func (h *holder) serve() {
	for {
		c, err := h.at.AcceptUnix()
		if err != nil {
			h.end()
			return
		}
		if checked, err := newConn(c); err == nil {
			go h.converse(checked) // ends with the connection
		}
	}
}

// converse answers one server's requests. After a give or take, the server has the
// port until its connection ends.
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
			ipc.CloseFiles(sockets)
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

// take stores the sockets that a server gives, and sets *has. It owns sockets, and
// closes them if it refuses.
func (h *holder) take(port Port, sockets []int, has *bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil || len(sockets) == 0 || port == (Port{}) {
		ipc.CloseFiles(sockets)
		return errors.New("nothing to hold, or something is held already")
	}
	h.port, h.held = port, sockets
	h.servers++
	*has = true
	return nil
}

// hand returns the port and its sockets for one more server, and sets *has. The
// holder still owns the sockets.
func (h *holder) hand(has *bool) (Port, []int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil || h.ended || *has {
		return Port{}, nil, errors.New("no port is held, or you have it")
	}
	h.servers++
	*has = true
	for _, l := range h.closing {
		l.Close() // a copy; the held sockets stay open
	}
	h.closing = nil
	return h.port, h.held, nil
}

// leave records that a server with the port has gone. If no other has the port,
// the holder closes connections from now on.
func (h *holder) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers--; h.servers > 0 || h.ended {
		return
	}
	ls, err := listeners(h.held)
	if err != nil {
		return // connections then wait for the next server
	}
	h.closing = ls
	for _, l := range ls {
		go closeConnections(l)
	}
}

// closeConnections closes every connection to l, until l is closed.
func closeConnections(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.(*net.TCPConn).SetLinger(0) // a reset, so the kernel keeps no state for it
			c.Close()
		}
		time.Sleep(closePause)
	}
}

// stay sets the time when the holder ends.
func (h *holder) stay(until time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return errors.New("no port is held")
	}
	h.until.Reset(time.Until(until))
	return nil
}

// watch ends the holder when its socket was removed or replaced, so that no server
// can find it.
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

// release closes the held sockets.
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
	ipc.CloseFiles(h.held)
}

// end releases the port, removes the holder's socket, and lets Main return.
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
