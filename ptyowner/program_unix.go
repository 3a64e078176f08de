//go:build unix

package ptyowner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
)

// streamBytes is how much at once is a stream, and no echo of a key.
const streamBytes = 2 << 10

// stateUmask closes what the owner itself makes to everybody else.
const stateUmask = 0o077

// waitStatus is how the program ended, and when that was seen.
type waitStatus struct {
	unix.WaitStatus
	at time.Time
}

// ptyMaster is the PTY's controlling side, in non-blocking mode, so that
// closing it wakes a reader and a writer.
type ptyMaster struct {
	file *os.File
	raw  syscall.RawConn
	// tty is the program's side, which is held open until the program has
	// ended: one that closes its terminal and opens /dev/tty later would
	// otherwise meet a PTY that has ended.
	tty *os.File

	mu sync.Mutex // one writer at a time, each write whole
}

// openPTY opens a PTY of the given size. creack/pty may leave its master in
// blocking mode, and (*os.File).Fd would put it back there, so that the
// runtime's poller would not know of it: the descriptor is taken over anew.
func openPTY(size terminal.Size) (*ptyMaster, error) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer ptmx.Close()
	fd, err := unix.FcntlInt(ptmx.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		tty.Close()
		return nil, err
	}
	m, err := newPTYMaster(fd, tty)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.setSize(size), setUTF8(int(tty.Fd()))); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// newPTYMaster takes over the descriptor of a PTY's controlling side, and
// tty, which may be nil. On error both are closed.
func newPTYMaster(fd int, tty *os.File) (*ptyMaster, error) {
	err := unix.SetNonblock(fd, true)
	m := &ptyMaster{file: os.NewFile(uintptr(fd), "pty"), tty: tty}
	if err == nil {
		m.raw, err = m.file.SyscallConn()
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// setSize is TIOCSWINSZ (tty_ioctl(4)); the kernel signals the program.
func (m *ptyMaster) setSize(s terminal.Size) error {
	var ioctlErr error
	err := m.raw.Control(func(fd uintptr) {
		ioctlErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{
			Row: s.Rows, Col: s.Cols, Xpixel: s.XPixels, Ypixel: s.YPixels,
		})
	})
	return errors.Join(err, ioctlErr)
}

// read blocks for output and takes as much as there is, up to len(p). The
// kernel gives at most 4 KiB a call, so it asks until nothing is left, and
// while output streams a little longer: that all downstream is woken for each
// 4 KiB costs more than the work itself. io.EOF says that no process holds the
// terminal any more.
func (m *ptyMaster) read(p []byte) (n int, err error) {
	rawErr := m.raw.Read(func(fd uintptr) bool {
		for n < len(p) {
			k, readErr := readNow(int(fd), p[n:])
			switch {
			case readErr == unix.EINTR:
			case readErr == unix.EAGAIN:
				if n < streamBytes || !awaitMore(int(fd)) {
					return n > 0
				}
			case readErr != nil || k == 0: // EIO on Linux, 0 on BSD
				err = io.EOF
				return true
			default:
				n += k
			}
		}
		return true
	})
	if rawErr != nil {
		return n, rawErr
	}
	return n, err
}

// readable reports whether there is output to read.
func (m *ptyMaster) readable() bool {
	fds := []unix.PollFd{{Events: unix.POLLIN}}
	err := m.raw.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		unix.Poll(fds, 0) // interrupted, it says nothing
	})
	return err == nil && fds[0].Revents&unix.POLLIN != 0
}

// write types all of p, without a break by another writer. With an error only
// the first n bytes were typed.
func (m *ptyMaster) write(p []byte) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.file.Write(p)
}

// foreground is the process group that the terminal's keys signal, 0 where
// there is none.
func (m *ptyMaster) foreground() int {
	var pgrp int
	if err := m.raw.Control(func(fd uintptr) { pgrp, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }); err != nil {
		return 0
	}
	return pgrp
}

// letEnd makes the PTY end when no process holds it any more.
func (m *ptyMaster) letEnd() {
	if m.tty != nil {
		m.tty.Close()
	}
}

func (m *ptyMaster) close() {
	m.letEnd()
	m.file.Close()
}

// startProgram opens the PTY and starts the program in a session and process
// group of its own, with the PTY as its controlling terminal. On error it
// returns the step that did not work.
func (o *owner) startProgram() (step string, err error) {
	if err := checkProgram(o.spec); err != nil {
		return "check program", err
	}
	master, err := openPTY(o.size)
	if err != nil {
		return "open PTY", err
	}
	pid, err := o.fork(master.tty)
	if err != nil {
		master.close()
		return "start program", fmt.Errorf("%s in %s: %w", o.spec.Argv[0], o.spec.Dir, err)
	}
	o.pty, o.pid = master, pid
	return "", nil
}

// fork starts the program on tty with nothing of the owner's, and of its
// starter's only what a login leaves to its user.
func (o *owner) fork(tty *os.File) (pid int, err error) {
	unix.Umask(o.umask)
	defer unix.Umask(stateUmask)
	own := private.CoreLimit()
	if err := private.SetCoreLimit(o.core); err != nil {
		return 0, err
	}
	defer private.SetCoreLimit(own)
	asFromLogin(func() {
		pid, err = forkProgram(o.spec.ID, o.spec.Argv[0], o.spec.Argv, &syscall.ProcAttr{
			Dir:   o.spec.Dir,
			Env:   o.programEnv(),
			Files: []uintptr{tty.Fd(), tty.Fd(), tty.Fd()},
			Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
		})
	})
	return pid, err
}

// checkProgram tells a missing directory from a missing program, which
// execve(2) does not.
func checkProgram(spec terminal.Spec) error {
	if len(spec.Argv) == 0 {
		return errors.New("no program given")
	}
	if !filepath.IsAbs(spec.Argv[0]) {
		return fmt.Errorf("program %q is not an absolute path", spec.Argv[0])
	}
	if info, err := os.Stat(spec.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("working directory %s is not a directory", spec.Dir)
	}
	return nil
}

// programEnv is the program's environment: what the specification says, and
// what the terminal and the session are, each variable once.
func (o *owner) programEnv() []string {
	ours := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "MIDDLEMAN_SESSION=" + o.spec.ID}
	if o.spec.Workspace != "" {
		ours = append(ours, "MIDDLEMAN_WORKSPACE="+o.spec.Workspace)
	}
	env := slices.DeleteFunc(slices.Clone(o.spec.Env), func(given string) bool {
		name, _, _ := strings.Cut(given, "=")
		return slices.ContainsFunc(ours, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
	return append(env, ours...)
}

// catchSignals keeps the owner alive when its terminal or its starter goes,
// and undoes what was ignored before: a signal that is caught is back at its
// default in the program, an ignored one would stay ignored.
func catchSignals() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught) // all that can be; nobody reads them
	resetIgnored()
}

// reap waits for every child until stopped, so that no zombie is left, and
// notes the program's end. With a subreaper the children are also those that
// lost their parent.
func (o *owner) reap() (stop func()) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	quit := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			o.reapAll()
			select {
			case <-children:
			case <-quit:
				o.reapAll()
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

func (o *owner) reapAll() {
	o.mu.Lock() // the program's pid is not signalled while it is reaped
	defer o.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if pid == o.pid {
			o.end = &waitStatus{status, time.Now()}
			o.pty.letEnd()
		}
		o.reapCount.Add(1)
		o.broadcast() // something of the session has ended
	}
}
