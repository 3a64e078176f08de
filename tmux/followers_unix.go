//go:build unix

package tmux

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// What followers are told begins with one of these bytes.
const (
	toldGrown byte = 1 // the journal has grown
	toldSized byte = 2 // then columns and rows, big-endian: the terminal's size from here on
	// toldWriter: another types now, or nobody.
	toldWriter byte = 3
)

// followers are the connections of those who want to know that the journal
// has grown. Each is told so, and gets the end of the stream at the end. One
// that writes a line "COLS ROWS" says that the terminal gets this size, one
// that writes "writer" that another types; its stream ends once that is told.
type followers struct {
	listener *net.UnixListener
	mark     func(cols, rows uint16) journal.Mark
	done     sync.WaitGroup // accept, and a hear for each connection

	mu     sync.Mutex // guards conns and closed
	conns  map[*net.UnixConn]bool
	closed bool
}

func listenFollowers(path string, mark func(cols, rows uint16) journal.Mark) (*followers, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", filepath.Base(path), err)
	}
	f := &followers{listener: l, mark: mark, conns: map[*net.UnixConn]bool{}}
	f.done.Go(f.accept) // joined by close
	return f, nil
}

// dial connects to the journal helper, if that is a process of this user.
func (r record) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.Notify)
	if err != nil {
		return nil, err
	}
	if err := private.CheckPeer(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("check who listens on %s: %w", r.Notify, err)
	}
	return conn, nil
}

func (f *followers) accept() {
	for {
		conn, err := f.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the connection, not the listener
		}
		if private.CheckPeer(conn) != nil {
			conn.Close() // not ours: it is owed no answer
			continue
		}
		if f.add(conn) {
			f.notify(conn, []byte{toldGrown}) // whatever came before it was accepted
			f.done.Go(func() { f.hear(conn) })
		}
	}
}

func (f *followers) add(c *net.UnixConn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.Close()
		return false
	}
	f.conns[c] = true
	return true
}

// hear reads what a connection says, until it ends. A follower says nothing.
func (f *followers) hear(c *net.UnixConn) {
	var line [16]byte
	n, err := c.Read(line[:])
	if string(line[:n]) == writerLine {
		f.tell([]byte{toldWriter})
	}
	var cols, rows uint16
	if err == nil {
		_, err = fmt.Sscanf(string(line[:n]), "%d %d\n", &cols, &rows)
	}
	if err == nil && cols > 0 && rows > 0 {
		f.mark(cols, rows)
		told := binary.BigEndian.AppendUint16([]byte{toldSized}, cols)
		f.tell(binary.BigEndian.AppendUint16(told, rows))
	}
	f.drop(c)
}

// wake tells every follower that the journal has grown.
func (f *followers) wake() { f.tell([]byte{toldGrown}) }

func (f *followers) tell(what []byte) {
	f.mu.Lock()
	conns := make([]*net.UnixConn, 0, len(f.conns))
	for c := range f.conns {
		conns = append(conns, c)
	}
	f.mu.Unlock()
	for _, c := range conns {
		f.notify(c, what)
	}
}

// notify writes without waiting for room. One that has not read its last
// bytes knows already that there is more; for a size it has to come again.
func (f *followers) notify(c *net.UnixConn, what []byte) {
	raw, err := c.SyscallConn()
	if err == nil {
		ctlErr := raw.Write(func(fd uintptr) bool {
			_, err = unix.Write(int(fd), what)
			return true
		})
		err = errors.Join(err, ctlErr)
	}
	if err == nil || errors.Is(err, unix.EAGAIN) && what[0] == toldGrown {
		return
	}
	f.drop(c)
}

func (f *followers) drop(c *net.UnixConn) {
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
	c.Close()
}

// close ends every follower's stream.
func (f *followers) close() error {
	err := f.listener.Close() // removes the socket
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		err = errors.Join(err, c.Close())
	}
	f.mu.Unlock()
	f.done.Wait()
	return err
}

// writerLine says that another types.
const writerLine = "writer\n"

// tellTimeout bounds the wait for the journal helper to pass something on.
const tellTimeout = time.Second

// tellSize has the journal helper note a size, before tmux makes it hold, so
// that what the program draws for it comes behind.
func (r record) tellSize(ctx context.Context, size terminal.Size) {
	r.tell(ctx, fmt.Sprintf("%d %d\n", size.Cols, size.Rows))
}

// tell says a line to the journal helper, and returns when it was passed on. A
// helper that does not answer is no reason to keep a viewer waiting: nobody
// hears of it then.
func (r record) tell(ctx context.Context, line string) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	conn, err := r.dial(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(tellTimeout)) // it fails on a closed connection alone
	if _, err := io.WriteString(conn, line); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// resize makes size the session's and has it noted.
func (s *session) resize(ctx context.Context, rec record, size terminal.Size) error {
	srv, t, err := s.reach(ctx, rec)
	if err != nil {
		return err
	}
	rec.tellSize(ctx, size)
	err = srv.resize(ctx, t, size)
	if err == nil {
		return nil
	}
	if p, paneErr := s.pane(ctx, srv); paneErr == nil { // it still is what it was
		rec.tellSize(ctx, p.size)
	}
	return err
}
