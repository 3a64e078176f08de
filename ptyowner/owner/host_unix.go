//go:build unix

package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/internal/cgroup"
	"middleman/internal/poll"
	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/terminal"
	"middleman/terminal/host"
)

// ptyHost is the host of a session whose owner opens the PTY itself.
type ptyHost struct{}

// Name returns "": state records no host for the PTY.
func (ptyHost) Name() string { return "" }

// Start opens a PTY and starts the program on it, in a session and process
// group of its own with the PTY as controlling terminal.
func (ptyHost) Start(p host.Program) (t host.Terminal, pid int, step string, err error) {
	proc.BecomeSubreaper()
	master, err := openPTY(p.Size)
	if err != nil {
		return nil, 0, "open PTY", err
	}
	if pid, err = forkProgram(p, master.tty); err != nil {
		master.Close()
		return nil, 0, "start program", fmt.Errorf("%s in %s: %w", p.Spec.Argv[0], p.Spec.Dir, err)
	}
	return master, pid, "", nil
}

// Adopt fails: a program on a PTY ends with the owner that holds the PTY.
func (ptyHost) Adopt() (host.Terminal, int, error) {
	return nil, 0, fmt.Errorf("go on with a program on a PTY: %w", errors.ErrUnsupported)
}

// Resume takes over both sides of the PTY.
func (ptyHost) Resume(fds []uintptr, _ json.RawMessage) (host.Terminal, error) {
	proc.BecomeSubreaper()
	tty, err := inherit(fds[1], "tty")
	if err != nil {
		return nil, err
	}
	master, err := duplicate(fds[0])
	if err != nil {
		tty.Close()
		return nil, err
	}
	m, err := newPTYMaster(master, tty)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// forkProgram starts the program on tty. The program inherits nothing from the
// owner, and from the owner's starter only what a login would leave to its
// user.
func forkProgram(p host.Program, tty *os.File) (pid int, err error) {
	stateMask := unix.Umask(p.Umask)
	defer unix.Umask(stateMask)
	own := private.CoreLimit()
	if err := private.SetCoreLimit(p.CoreLimit); err != nil {
		return 0, err
	}
	defer private.SetCoreLimit(own)
	host.AsFromLogin(func() {
		argv := p.Spec.Command()
		pid, err = cgroup.Fork(p.Spec.ID, argv[0], argv, &syscall.ProcAttr{
			Dir:   p.Spec.Dir,
			Env:   host.Environ(p.Spec, "xterm-256color"),
			Files: []uintptr{tty.Fd(), tty.Fd(), tty.Fd()},
			Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
		})
	}, func(err error) { logf("%v", err) })
	return pid, err
}

// streamBytes is from how many bytes a read counts as a stream, not a key's
// echo.
const streamBytes = 2 << 10

// ptyMaster is the PTY's controlling side, in non-blocking mode, so that Close
// wakes a reader and a writer.
type ptyMaster struct {
	file device
	raw  syscall.RawConn // of file
	// tty is the program's side. It stays open until the program has ended.
	// Otherwise a program that closes its terminal and opens /dev/tty later
	// would find a PTY that has ended.
	tty *os.File

	mu sync.Mutex // held to write, so that each write is whole
}

// device is an open terminal. Its Close and deadlines wake goroutines that
// block.
type device interface {
	io.WriteCloser
	syscall.Conn
	SetDeadline(time.Time) error
}

// openPTY opens a PTY of the given size. creack/pty may leave its master in
// blocking mode, and (*os.File).Fd would set that mode again, so that the
// runtime's poller would not know the descriptor. So openPTY uses a duplicate.
func openPTY(size terminal.Size) (*ptyMaster, error) {
	ptmx, opened, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer ptmx.Close()
	defer opened.Close()
	tty, err := quietTTY(opened)
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(ptmx.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		tty.Close()
		return nil, err
	}
	m, err := newPTYMaster(fd, tty)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.SetSize(size), setUTF8(int(tty.Fd()))); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// quietTTY returns a duplicate of tty in blocking mode. The owner does not read
// it, and in non-blocking mode each key and each echo would wake the runtime's
// poller.
func quietTTY(tty *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(tty.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "tty"), nil
}

// newPTYMaster takes over the descriptor of a PTY's controlling side, and tty,
// which may be nil. On error it closes both.
func newPTYMaster(fd int, tty *os.File) (*ptyMaster, error) {
	file, err := newDevice(fd)
	if err != nil {
		if tty != nil {
			tty.Close()
		}
		return nil, err
	}
	m := &ptyMaster{file: file, tty: tty}
	if m.raw, err = m.file.SyscallConn(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// SetSize uses TIOCSWINSZ (tty_ioctl(4)); the kernel signals the program.
func (m *ptyMaster) SetSize(s terminal.Size) error {
	var ioctlErr error
	err := m.raw.Control(func(fd uintptr) {
		ioctlErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{
			Row: s.Rows, Col: s.Cols, Xpixel: s.XPixels, Ypixel: s.YPixels,
		})
	})
	return errors.Join(err, ioctlErr)
}

// Await blocks until there is output, or until no process holds the terminal any
// more.
func (m *ptyMaster) Await() error {
	return m.raw.Read(func(fd uintptr) bool { return host.IsReady(fd, ^int16(0)) })
}

// ReadNow takes as much output as there is, up to len(p). The kernel returns at
// most 4 KiB a call, so ReadNow calls it until nothing is left. While output
// streams it also waits a little for more: waking all readers downstream for each
// 4 KiB would cost more than the work itself. io.EOF means that no process holds
// the terminal any more.
func (m *ptyMaster) ReadNow(p []byte) (n int, err error) {
	rawErr := m.raw.Control(func(fd uintptr) { n, err = readDevice(int(fd), p) })
	if rawErr != nil {
		return n, rawErr
	}
	return n, err
}

// readDevice reads the output that there is, perhaps none, without blocking.
func readDevice(fd int, p []byte) (n int, err error) {
	for n < len(p) {
		k, readErr := poll.ReadNow(fd, p[n:])
		switch {
		case readErr == unix.EINTR:
		case readErr == unix.EAGAIN:
			if n < streamBytes || !poll.More(fd) {
				return n, nil
			}
		case readErr != nil || k == 0: // EIO on Linux, 0 on BSD
			return n, io.EOF
		default:
			if n += k; n < streamBytes {
				return n, nil
			}
		}
	}
	return n, nil
}

// Readable reports whether there is output to read.
func (m *ptyMaster) Readable() bool {
	readable := false
	err := m.raw.Control(func(fd uintptr) { readable = host.IsReady(fd, unix.POLLIN) })
	return err == nil && readable
}

// Write types all of p, with no other writer's bytes in between. On error, only
// the first n bytes were typed.
func (m *ptyMaster) Write(p []byte) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.file.Write(p)
}

// WriteIf implements host.Terminal.
func (m *ptyMaster) WriteIf(p []byte, may func() error) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := may(); err != nil {
		return 0, err
	}
	return m.writeNow(p)
}

// WriteHeld implements host.Terminal. What the program has printed can be read
// at once.
func (m *ptyMaster) WriteHeld(p []byte, may func() error) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return host.TypeHeld(m.tty, func() error { return nil }, may, func() (int, error) { return m.writeNow(p) })
}

// writeNow types as much of p as the terminal takes at once. Called with mu held.
func (m *ptyMaster) writeNow(p []byte) (n int, err error) {
	rawErr := m.raw.Control(func(fd uintptr) {
		for n < len(p) {
			k, writeErr := unix.Write(int(fd), p[n:])
			switch {
			case writeErr == unix.EINTR:
				continue
			case writeErr == unix.EAGAIN:
				return
			case writeErr != nil || k == 0:
				err = os.NewSyscallError("write", writeErr)
				return
			}
			n += k
		}
	})
	return n, errors.Join(rawErr, err)
}

// Foreground returns the process group that the terminal's keys signal, or 0 if
// there is none.
func (m *ptyMaster) Foreground() int {
	var pgrp int
	if err := m.raw.Control(func(fd uintptr) { pgrp, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }); err != nil {
		return 0
	}
	return pgrp
}

// LetEnd makes the PTY end once no other process holds it.
func (m *ptyMaster) LetEnd() {
	if m.tty != nil {
		m.tty.Close()
	}
}

func (m *ptyMaster) Close() error {
	m.LetEnd()
	return m.file.Close()
}

// Answers returns false: queries of the program go to the attached viewer, or
// to the screen.
func (m *ptyMaster) Answers() bool { return false }

func (m *ptyMaster) SetDeadline(t time.Time) error { return m.file.SetDeadline(t) }

// Root returns the owner itself, which is the subreaper.
func (m *ptyMaster) Root() (root, spare int) { return os.Getpid(), 0 }

func (m *ptyMaster) Quiet() time.Duration { return drainQuiet }

// Done does nothing: there is no host process to end.
func (m *ptyMaster) Done() {}

func (m *ptyMaster) Export() (fds []uintptr, state json.RawMessage, err error) {
	master, err := descriptor(m.file)
	if err != nil {
		return nil, nil, err
	}
	tty, err := descriptor(m.tty)
	return []uintptr{master, tty}, nil, err
}

// Reap waits for every child until stop is called, so that no zombie is left.
// The owner is the subreaper, so orphaned descendants are its children too.
func (m *ptyMaster) Reap(mu sync.Locker, ended func(pid int, status unix.WaitStatus), _ func()) (stop func()) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	quit := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			reapAll(mu, ended)
			select {
			case <-children:
			case <-quit:
				reapAll(mu, ended)
				return
			}
		}
	})
	return func() {
		signal.Stop(children)
		close(quit)
		loop.Wait()
	}
}

func reapAll(mu sync.Locker, ended func(pid int, status unix.WaitStatus)) {
	mu.Lock()
	defer mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		ended(pid, status)
	}
}
