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

	"middleman/internal/systemd"
)

// Holder is a server's way to the holder of its port. Its methods may be called
// by several goroutines.
type Holder struct {
	mu    sync.Mutex // one request at a time
	conn  conn
	watch conn          // carries nothing, and ends with the holder
	gone  chan struct{} // closed then, and by Close
	done  chan struct{} // closed when the process that was started has been waited for; nil where it was not by us
}

// Find takes the port over from the holder at socket: until the Holder is
// closed, the caller alone accepts connections. The listeners are the caller's
// to close. Without a holder the error is ErrNone.
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
		closeAll(sockets)
		sockets, err = nil, errors.New("it has handed over nothing")
	}
	if err == nil {
		ls, err = listeners(sockets)
		closeAll(sockets)
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

// watchIt makes Gone tell of the holder's end.
func (h *Holder) watchIt(socket string) (err error) {
	if h.watch, err = dial(socket); err != nil {
		return err
	}
	h.gone = make(chan struct{})
	go func() { // ends with the holder, or by Close
		defer close(h.gone)
		_, _ = h.watch.Read(make([]byte, 1)) // it says nothing
	}()
	return nil
}

// Gone is closed when the holder has ended, or by Close.
func (h *Holder) Gone() <-chan struct{} { return h.gone }

func dial(socket string) (conn, error) {
	c, err := net.DialTimeout("unix", socket, answerTime)
	if err != nil {
		return conn{}, err
	}
	return newConn(c.(*net.UnixConn))
}

// Start starts a holder that listens at socket, and gives it ls to hold, which
// stay the caller's too. What runs is the executable at path.
func Start(ctx context.Context, path, socket string, port Port, ls []net.Listener) (*Holder, error) {
	cmd, err := spawn(ctx, path, socket)
	if err != nil {
		return nil, fmt.Errorf("start a holder of the port: %w", err)
	}
	h := &Holder{done: make(chan struct{})}
	go func() { // ends with the holder, or with this process
		defer close(h.done)
		_ = cmd.Wait() // that it has ended is seen at its socket
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

// spawn returns when the holder listens.
func spawn(ctx context.Context, path, socket string) (*exec.Cmd, error) {
	ready, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	var said bytes.Buffer
	cmd, _, err := systemd.Start(ctx, "middleman-port-"+fmt.Sprint(os.Getpid())+".scope", func() *exec.Cmd {
		cmd := exec.Command(path, Command, socket) // it outlives every context
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
		// A copy: l may be closed meanwhile.
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

// ask sends a request and waits for its answer.
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
		closeAll(handed)
		return message{}, nil, errors.New(answer.Error)
	}
	return answer, handed, err
}

// Keep makes the holder stay until then, also without a server.
func (h *Holder) Keep(until time.Time) error {
	_, _, err := h.ask(message{Verb: verbKeep, Until: until})
	if err != nil {
		return fmt.Errorf("keep the port's holder: %w", err)
	}
	return nil
}

// End ends the holder and waits until it has let the port go. The caller's own
// listeners stay as they are.
func (h *Holder) End() error {
	_, _, err := h.ask(message{Verb: verbEnd})
	if err == nil {
		select {
		case <-h.gone:
		case <-time.After(answerTime):
			err = errors.New("it says that it ends, and does not")
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

// Close leaves the port to the holder alone: what connects is closed until
// another server comes.
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
