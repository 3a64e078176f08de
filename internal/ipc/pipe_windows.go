package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/private"
)

// MaxSocketPath is the number of bytes that the path of a socket may have. Here it
// is that of an ordinary file.
const MaxSocketPath = 1 << 14

// pipePrefix begins the name of each pipe.
const pipePrefix = `\\.\pipe\middleman-`

// pipeBytes is how much of either direction the system holds.
const pipeBytes = 64 << 10

// Listener is a named pipe that only this user may open. What Listen leaves at its
// path is a file with the pipe's name, which is random: nobody can take the name
// before us, and what may be read and replaced there decides who finds us, as with
// a Unix socket.
type Listener struct {
	path, name string
	attributes *windows.SecurityAttributes
	stop       windows.Handle // an event: the listener is closed

	accepting sync.Mutex     // held by Accept
	next      windows.Handle // the instance that the next client gets; guarded by accepting
	// wait is what the system writes to while Accept waits; guarded by accepting. It
	// is no local variable: a goroutine's stack moves when it grows.
	wait windows.Overlapped

	kept    bool // Close does not remove the file
	closing sync.Once
}

// Conn is one connection of a named pipe.
type Conn struct{ *os.File }

// newConn returns the connection with that handle, which it owns from now on. A handle
// that no deadline can end is an error: a read of it would return when a write has ended,
// and the system would put the next bytes where nobody looks.
func newConn(h windows.Handle, path string) (*Conn, error) {
	// os.NewFile takes a handle for one that blocks if its number is that of standard
	// input. A process that has closed its standard input gets the number again.
	if h == windows.Handle(syscall.Stdin) {
		other, err := duplicate(h)
		if err != nil {
			return nil, fmt.Errorf("duplicate the handle of a pipe: %w", err)
		}
		h = other
	}
	c := &Conn{os.NewFile(uintptr(h), path)}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for a pipe: %w", err), c.Close())
	}
	return c, nil
}

// duplicate returns a handle of another number in place of h, which it closes.
func duplicate(h windows.Handle) (other windows.Handle, err error) {
	defer windows.CloseHandle(h)
	own := windows.CurrentProcess()
	err = windows.DuplicateHandle(own, h, own, &other, 0, false, windows.DUPLICATE_SAME_ACCESS)
	return other, err
}

// Listen makes a named pipe for this user alone, and writes its name to path. It
// replaces what is at path, so the caller must know that nobody listens there any
// more. Call CheckPeer for each connection. The caller closes the listener, which
// removes the file.
func Listen(path string) (*Listener, error) {
	attributes, err := private.OnlyOurs()
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l := &Listener{path: path, name: pipePrefix + strings.ToLower(rand.Text()), attributes: attributes}
	if l.stop, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if l.next, err = l.instance(windows.FILE_FLAG_FIRST_PIPE_INSTANCE); err == nil {
		err = private.Replace(path, []byte(l.name), private.ThisBoot)
	}
	if err != nil {
		l.free()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

// instance makes an instance of the pipe, for one client.
func (l *Listener) instance(flags uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(l.name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	h, err := windows.CreateNamedPipe(name, flags|windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED,
		windows.PIPE_TYPE_BYTE|windows.PIPE_READMODE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		windows.PIPE_UNLIMITED_INSTANCES, pipeBytes, pipeBytes, 0, l.attributes)
	if err != nil {
		return windows.InvalidHandle, fmt.Errorf("make pipe %s: %w", l.name, err)
	}
	return h, nil
}

// Accept returns the next connection. Call CheckPeer before you use it.
func Accept(l *Listener) (*Conn, error) {
	l.accepting.Lock()
	defer l.accepting.Unlock()
	for {
		err := l.await(l.next)
		if errors.Is(err, net.ErrClosed) {
			return nil, &net.OpError{Op: "accept", Net: "pipe", Addr: l.Addr(), Err: err}
		}
		taken := l.next
		next, makeErr := l.instance(0) // before the client is served: the next one finds an instance
		if makeErr != nil {
			if err == nil {
				_ = windows.DisconnectNamedPipe(taken) // and used again
			}
			return nil, makeErr
		}
		l.next = next
		if err == nil {
			if c, err := newConn(taken, l.path); err == nil {
				return c, nil
			}
			continue // its client finds the pipe closed
		}
		windows.CloseHandle(taken) // of a client that has left already
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := Accept(l)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// await waits for a client of h, or for Close.
func (l *Listener) await(h windows.Handle) error {
	if ended, _ := windows.WaitForSingleObject(l.stop, 0); ended == windows.WAIT_OBJECT_0 {
		return net.ErrClosed
	}
	came, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(came)
	l.wait = windows.Overlapped{HEvent: came}
	ov := &l.wait
	err = windows.ConnectNamedPipe(h, ov)
	if err == windows.ERROR_IO_PENDING {
		which, waitErr := windows.WaitForMultipleObjects([]windows.Handle{came, l.stop}, false, windows.INFINITE)
		if waitErr != nil || which != windows.WAIT_OBJECT_0 {
			_ = windows.CancelIoEx(h, ov) // it may have ended meanwhile
			err = net.ErrClosed
		} else {
			err = nil
		}
		var n uint32
		ended := windows.GetOverlappedResult(h, ov, &n, true) // ov is the system's until then
		if err == nil {
			err = ended
		}
	}
	if err == windows.ERROR_PIPE_CONNECTED {
		return nil
	}
	return err
}

// SetUnlinkOnClose says whether Close removes the file at the listener's path, as
// it does unless told otherwise. Call it before Close.
func (l *Listener) SetUnlinkOnClose(unlink bool) { l.kept = !unlink }

// Close wakes Accept, and removes the file at the listener's path.
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.closing.Do(func() {
		err = nil
		if !l.kept {
			err = os.Remove(l.path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		_ = windows.SetEvent(l.stop)
		l.accepting.Lock()
		defer l.accepting.Unlock()
		windows.CloseHandle(l.next) // a client that waits for it finds the pipe gone
		l.next = windows.InvalidHandle
	})
	return err
}

// free closes what Listen has opened.
func (l *Listener) free() {
	if l.next != windows.InvalidHandle && l.next != 0 {
		windows.CloseHandle(l.next)
	}
	windows.CloseHandle(l.stop)
}

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// Addr returns the path of the listener.
func (l *Listener) Addr() net.Addr { return pipeAddr(l.path) }

func (c *Conn) LocalAddr() net.Addr  { return pipeAddr(c.Name()) }
func (c *Conn) RemoteAddr() net.Addr { return pipeAddr(c.Name()) }

// CloseWrite does nothing: a pipe has no half that could be closed.
func (c *Conn) CloseWrite() error { return nil }

// Read returns io.EOF once the other end is closed and all was read. Its other
// errors are net.Errors: by these net/http tells a deadline from a lost client.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_PIPE_NOT_CONNECTED) {
		err = io.EOF
	}
	return n, c.netError("read", err)
}

// Write returns net.Errors, as Read does.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	return n, c.netError("write", err)
}

func (c *Conn) netError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return &net.OpError{Op: op, Net: "pipe", Addr: c.LocalAddr(), Err: err}
}

// maxPipeName bounds what Dial reads of a file with a pipe's name.
const maxPipeName = 256

// dialPause is the time between two tries to reach a pipe whose instances are all
// taken: its listener makes another one as soon as it runs.
const dialPause = 2 * time.Millisecond

// Dial connects to the pipe whose name Listen wrote to path. Call CheckPeer before
// you use the connection. A missing file and a pipe that is gone are
// fs.ErrNotExist.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	name, err := readName(path)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	for {
		// The listener may learn who we are, and must not act as us.
		h, err := windows.CreateFile(wide, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
			windows.FILE_FLAG_OVERLAPPED|windows.SECURITY_SQOS_PRESENT|windows.SECURITY_IDENTIFICATION, 0)
		if err == nil {
			c, err := newConn(h, path)
			if err != nil {
				return nil, fmt.Errorf("dial %s: %w", path, err)
			}
			return c, nil
		}
		if err != windows.ERROR_PIPE_BUSY {
			return nil, fmt.Errorf("dial %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", path, ctx.Err())
		case <-time.After(dialPause):
		}
	}
}

func readName(path string) (string, error) {
	f, err := private.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPipeName))
	if err != nil {
		return "", err
	}
	if name := string(data); isPipeName(name) {
		return name, nil
	}
	return "", errors.New("it has no name of a pipe of middleman")
}

// isPipeName reports whether Listen can have written name: the prefix, then small
// letters and digits.
func isPipeName(name string) bool {
	rest, ok := strings.CutPrefix(name, pipePrefix)
	return ok && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == "" && len(name) < maxPipeName
}

// CheckPeer returns an error unless a process of this user is at the other end of
// the pipe. Both ends call it before they send or read.
func CheckPeer(conn net.Conn) error {
	pid, err := peerOf(conn)
	if err != nil {
		return fmt.Errorf("peer of pipe: %w", err)
	}
	own, err := private.OwnSID()
	if err != nil {
		return err
	}
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return fmt.Errorf("peer of pipe: look at process %d: %w", pid, err)
	}
	defer windows.CloseHandle(process)
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return fmt.Errorf("peer of pipe: look at the user of process %d: %w", pid, err)
	}
	defer token.Close()
	user, err := token.GetTokenUser()
	if err != nil {
		return fmt.Errorf("peer of pipe: look at the user of process %d: %w", pid, err)
	}
	if !user.User.Sid.Equals(own) {
		return fmt.Errorf("the process at the other end belongs to user %s, and you are user %s", private.NameOf(user.User.Sid), private.NameOf(own))
	}
	return nil
}

// PeerPID returns the id of the process that CheckPeer checks, or 0 if the system
// does not tell. The process may have ended.
func PeerPID(conn net.Conn) int {
	pid, err := peerOf(conn)
	if err != nil {
		return 0
	}
	return int(pid)
}

// peerOf returns the process at the other end: the client's if this process made
// the pipe, otherwise the listener's.
func peerOf(conn net.Conn) (pid uint32, err error) {
	c, ok := conn.(*Conn)
	if !ok {
		return 0, fmt.Errorf("%T is not a pipe of middleman", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		var flags uint32
		h := windows.Handle(fd)
		if inner = windows.GetNamedPipeInfo(h, &flags, nil, nil, nil); inner != nil {
			return
		}
		if flags&windows.PIPE_SERVER_END != 0 {
			inner = windows.GetNamedPipeClientProcessId(h, &pid)
		} else {
			inner = windows.GetNamedPipeServerProcessId(h, &pid)
		}
	})
	if err = errors.Join(err, inner); err == nil && pid == 0 {
		err = errors.New("it is on another machine")
	}
	return pid, err
}
