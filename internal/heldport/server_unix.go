//go:build unix

package heldport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/systemd"
)

// Holder is a server's connection to the holder of its port. Its methods are safe
// for concurrent use.
type Holder struct {
	mu    sync.Mutex // one request at a time
	conn  conn
	watch conn          // carries no data; it ends with the holder
	gone  chan struct{} // closed when watch ends, also by Close
	done  chan struct{} // closed when the holder was waited for; nil unless Start started it
}

// Find takes the port over from the holder that listens at socket. The holder
// accepts no connections until the Holder is closed. The caller closes the Holder
// and the listeners. If there is no holder, the error is ErrNone; any other error
// means that there may be one. Each request to it may take up to 5 seconds.
func Find(socket string) (h *Holder, port Port, ls []net.Listener, err error) {
	c, err := dial(socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, Port{}, nil, ErrNone
	}
	if err != nil {
		return nil, Port{}, nil, fmt.Errorf("ask the holder of the port at %s: %w", socket, err)
	}
	h = &Holder{conn: c}
	m, sockets, err := h.ask(message{Verb: verbTake})
	if err == nil && (len(sockets) == 0 || m.Port == Port{}) {
		ipc.CloseFiles(sockets)
		sockets, err = nil, errors.New("it handed over no socket")
	}
	if err == nil {
		ls, err = listeners(sockets)
		ipc.CloseFiles(sockets)
	}
	if err == nil {
		if err = h.watchIt(socket); err != nil {
			for _, l := range ls {
				l.Close()
			}
		}
	}
	if err != nil {
		return nil, Port{}, nil, errors.Join(fmt.Errorf("take the port over from its holder (`middleman %s %s`): %w", Command, socket, err), h.Close())
	}
	return h, m.Port, ls, nil
}

// watchIt opens the connection by which Gone notices the holder's end.
func (h *Holder) watchIt(socket string) (err error) {
	if h.watch, err = dial(socket); err != nil {
		return err
	}
	h.gone = make(chan struct{})
	go func() { // ends with the holder, or by Close
		defer close(h.gone)
		_, _ = h.watch.Read(make([]byte, 1)) // the holder sends nothing
	}()
	return nil
}

// Gone returns a channel that is closed when the holder has ended, or by Close.
func (h *Holder) Gone() <-chan struct{} { return h.gone }

func dial(socket string) (conn, error) {
	c, err := net.DialTimeout("unix", socket, answerTime)
	if err != nil {
		return conn{}, err
	}
	return newConn(c.(*net.UnixConn))
}

// Start starts a holder process, gives it copies of the sockets of ls, and returns
// once it has them. The process runs the executable at path with Command, listens
// at socket, and outlives ctx. It ends after 30 seconds unless Keep is called. The
// caller still owns ls, and closes the Holder.
func Start(ctx context.Context, path, socket string, port Port, ls []net.Listener) (*Holder, error) {
	cmd, err := spawn(ctx, path, socket)
	if err != nil {
		return nil, fmt.Errorf("start a holder of the port: %w", err)
	}
	h := &Holder{done: make(chan struct{})}
	go func() { // ends with the holder, or with this process
		defer close(h.done)
		_ = cmd.Wait() // Gone tells of the end, so its status is not needed
	}()
	if h.conn, err = dial(socket); err == nil {
		err = h.give(port, ls)
	}
	if err == nil {
		err = h.watchIt(socket)
	}
	if err != nil {
		cmd.Process.Kill()
		<-h.done
		return nil, errors.Join(fmt.Errorf("give the port to its holder: %w", err), h.Close())
	}
	return h, nil
}

// spawn starts the holder's process and returns when it listens.
func spawn(ctx context.Context, path, socket string) (*exec.Cmd, error) {
	ready, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	var said bytes.Buffer
	cmd, _, err := systemd.Start(ctx, "middleman-port-"+fmt.Sprint(os.Getpid())+".scope", func() *exec.Cmd {
		cmd := exec.Command(path, Command, socket) // without a context: it outlives this process
		cmd.Args[0] = "middleman"
		cmd.Dir = "/"
		cmd.Env = []string{"GOMAXPROCS=1"}
		cmd.ExtraFiles = []*os.File{theirs} // readyFD
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	})
	theirs.Close()
	if err != nil {
		return nil, err
	}
	ready.SetReadDeadline(time.Now().Add(answerTime))
	if _, err = said.ReadFrom(ready); err == nil && said.String() != readyWord {
		err = errors.New(strings.TrimSpace("it did not get ready: " + said.String()))
	}
	if err != nil {
		cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return cmd, nil
}

func (h *Holder) give(port Port, ls []net.Listener) error {
	var sockets []int
	for _, l := range ls {
		raw, err := l.(syscall.Conn).SyscallConn()
		if err != nil {
			return err
		}
		// Make a copy, because l may be closed meanwhile.
		var fd int
		if err := raw.Control(func(n uintptr) { fd, err = unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		sockets = append(sockets, fd)
	}
	_, _, err := h.ask(message{Verb: verbGive, Port: port}, sockets...)
	return err
}

// ask sends a request and waits for its answer, at most for answerTime. The caller
// closes the sockets in the answer.
func (h *Holder) ask(m message, sockets ...int) (message, []int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return message{}, nil, err
	}
	if err := h.conn.send(m, sockets...); err != nil {
		return message{}, nil, err
	}
	answer, handed, err := h.conn.receive()
	if err == nil && answer.Error != "" {
		ipc.CloseFiles(handed)
		return message{}, nil, errors.New(answer.Error)
	}
	return answer, handed, err
}

// Keep sets the time when the holder ends, whether a server runs or not.
func (h *Holder) Keep(until time.Time) error {
	_, _, err := h.ask(message{Verb: verbKeep, Until: until})
	if err != nil {
		return fmt.Errorf("keep the port's holder: %w", err)
	}
	return nil
}

// End ends the holder, waits until it has released the port, and closes h. The
// caller's own listeners stay open.
func (h *Holder) End() error {
	_, _, err := h.ask(message{Verb: verbEnd})
	if err == nil {
		select {
		case <-h.gone:
		case <-time.After(answerTime):
			err = errors.New("it reported that it ends, but it still runs")
		}
	}
	if h.done != nil && err == nil {
		<-h.done
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("end the port's holder: %w", err)
	}
	return nil
}

// Close ends this server's connection to the holder, which goes on to hold the
// port. Unless another server has the port, the holder then closes connections
// until one takes it.
func (h *Holder) Close() error {
	var errs []error
	for _, c := range []conn{h.conn, h.watch} {
		if c.UnixConn != nil {
			errs = append(errs, c.Close())
		}
	}
	if h.gone != nil {
		<-h.gone
	}
	return errors.Join(errs...)
}
