//go:build unix

package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
	"middleman/terminal"
	"middleman/terminal/host"
)

// quietTime is how long no output must come after the program's end before it
// counts as complete, if the mark does not come: the tmux server is stopped or
// was killed.
const quietTime = 5 * time.Second

// paneState is what another owner, or another image of this one, must know of a
// pane.
type paneState struct {
	Pane     string      `json:"pane"`
	Server   int         `json:"server"`
	Launcher int         `json:"launcher"`
	Program  int         `json:"program"`
	Mark     []byte      `json:"mark"`
	Tmux     inputServer `json:"tmux"`
	// PipeSocket is where the helper of a new pipe connects to the owner.
	PipeSocket string `json:"pipe_socket"`
	Unread     []byte `json:"unread,omitempty"` // bytes from the launcher that were not decoded yet
}

// paneTerminal implements host.Terminal for a pane. Output comes through the
// pane's pipe. Input goes through the server's one control client.
type paneTerminal struct {
	paneState
	conn  *net.UnixConn // to the launcher
	news  *hearer       // reads from conn
	pipe  *os.File
	raw   syscall.RawConn // of pipe
	tty   *os.File
	input *input
	ahead int // bytes typed since the program had last read all input; guarded by input.whole

	mu       sync.Mutex // guards what follows, and pipe and raw
	stirred  *sync.Cond // on mu: a new deadline, the end of the terminal, or LetEnd
	deadline time.Time
	window   terminal.Size // the size to tell tmux
	resizing bool          // resizeWindow runs

	ending atomic.Bool // LetEnd was called: the mark will come
	cut    atomic.Bool // the pipe has ended before the program
	over   atomic.Bool // the mark was read
	marks  *markScanner
	late   int         // bytes that were read after the terminal's end
	gone   atomic.Bool // tmux has closed the pane's terminal
	lost   atomic.Bool // the launcher has ended
}

// open prepares a terminal whose descriptors are set.
func (t *paneTerminal) open() error {
	t.stirred = sync.NewCond(&t.mu)
	t.marks = &markScanner{mark: t.Mark}
	t.input = &input{server: t.Tmux, pid: t.Server, launcher: t.Launcher}
	pipe := t.pipe
	t.pipe = nil
	return t.usePipe(pipe)
}

// Await implements host.Terminal. A pipe that has ended before the program is
// replaced.
func (t *paneTerminal) Await() error {
	if t.over.Load() {
		return nil // ReadNow tells the end
	}
	if t.cut.Load() {
		err := t.awaitPipe()
		if errors.Is(err, host.ErrGap) || errors.Is(err, io.EOF) {
			t.cut.Store(false)
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		return nil // ReadNow tells the end
	}
	err := t.rawPipe().Read(func(fd uintptr) bool { return t.gone.Load() || host.IsReady(fd, ^int16(0)) })
	if t.gone.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// ReadNow implements host.Terminal. Before LetEnd it does not look at the bytes;
// afterwards the mark is the end. p must be longer than the mark.
func (t *paneTerminal) ReadNow(p []byte) (n int, err error) {
	if t.over.Load() {
		return 0, io.EOF
	}
	room := p[:len(p)-len(t.Mark)] // leaves space for bytes that were held back
	if n, err = t.readPipe(room); t.ending.Load() {
		n = copy(p, t.marks.scan(p[:n]))
		t.over.Store(t.marks.found)
		if err == io.EOF {
			n += copy(p[n:], t.marks.rest())
		}
	} else if err == io.EOF && n == 0 && !t.gone.Load() {
		t.cut.Store(true)
		err = nil
	}
	return n, err
}

// Read blocks for output, and takes as much as there is.
func (t *paneTerminal) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil {
		if err = t.Await(); err == nil {
			n, err = t.ReadNow(p)
		}
	}
	return n, err
}

// Readable implements host.Terminal.
func (t *paneTerminal) Readable() bool {
	readable := false
	err := t.rawPipe().Control(func(fd uintptr) { readable = host.IsReady(fd, unix.POLLIN) })
	return err == nil && readable
}

// Write implements host.Terminal.
func (t *paneTerminal) Write(p []byte) (n int, err error) {
	if t.gone.Load() || t.lost.Load() {
		return 0, os.ErrClosed
	}
	return t.input.keys(t.Pane, p, t.room)
}

// WriteIf implements host.Terminal. It does not wait for the program, but for
// the tmux server.
func (t *paneTerminal) WriteIf(p []byte, may func() error) (n int, err error) {
	if t.gone.Load() || t.lost.Load() {
		return 0, os.ErrClosed
	}
	if err := t.input.ready(); err != nil { // not after the decision: a start takes long
		return 0, err
	}
	t.input.whole.Lock()
	defer t.input.whole.Unlock()
	if err := may(); err != nil {
		return 0, err
	}
	return t.writeNow(p)
}

// WriteHeld implements host.Terminal.
func (t *paneTerminal) WriteHeld(p []byte, may func() error) (n int, err error) {
	if t.gone.Load() || t.lost.Load() {
		return 0, os.ErrClosed
	}
	if err := t.input.ready(); err != nil {
		return 0, err
	}
	t.input.whole.Lock()
	defer t.input.whole.Unlock()
	return host.TypeHeld(t.tty, t.settle, may, func() (int, error) { return t.writeNow(p) })
}

// settleTime bounds settle.
const settleTime = 2 * time.Second

// settle returns when the tmux server has passed on what the program had printed
// before, and what was typed before. Both wait in tmux for no longer than one
// turn of its event loop, after which it answers the next request. So settle
// asks twice, through the control client, whose commands stay in order.
func (t *paneTerminal) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	c := client{tmux: t.Tmux.Tmux, socket: t.Tmux.Socket}
	for range 2 {
		channel := "middleman" + t.Pane[1:] + "-" + strconv.Itoa(os.Getpid())
		if err := t.input.command("wait-for -S " + channel); err != nil {
			return err
		}
		if _, err := c.run(ctx, "wait-for", channel); err != nil {
			return err
		}
	}
	return nil
}

// writeNow types as much of p as the program may be behind. Called with
// input.whole held.
func (t *paneTerminal) writeNow(p []byte) (n int, err error) {
	if t.gone.Load() || t.lost.Load() {
		return 0, os.ErrClosed
	}
	n, err = t.input.keysLocked(t.Pane, p, func(n int) error {
		if !t.fits(n) {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return n, err
}

// errFull means that no more can be typed until the program has read.
var errFull = errors.New("as much is typed as the program may be behind")

// SetSize implements host.Terminal. It sets the terminal's size itself, so that
// it holds at once. tmux later sets the window's size, and with it the same
// size again.
func (t *paneTerminal) SetSize(s terminal.Size) error {
	if t.gone.Load() {
		return nil
	}
	had, err := unix.IoctlGetWinsize(int(t.tty.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return err
	}
	size := &unix.Winsize{Row: s.Rows, Col: s.Cols}
	if had.Col > 0 && had.Row > 0 { // pixels in proportion to the cells before
		size.Xpixel, size.Ypixel = had.Xpixel/had.Col*s.Cols, had.Ypixel/had.Row*s.Rows
	}
	if err := unix.IoctlSetWinsize(int(t.tty.Fd()), unix.TIOCSWINSZ, size); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window = s
	if !t.resizing {
		t.resizing = true
		go t.resizeWindow() // ends when tmux was told the last size
	}
	return nil
}

// resizeWindow tells tmux the last size. If that fails, only users who attach
// by hand see another size.
func (t *paneTerminal) resizeWindow() {
	for told := (terminal.Size{}); ; {
		t.mu.Lock()
		size := t.window
		if t.resizing = size != told; !t.resizing {
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		_ = t.input.command(fmt.Sprintf("resize-window -t %s -x %d -y %d", t.Pane, size.Cols, size.Rows))
		told = size
	}
}

// Foreground implements host.Terminal. It does not ask the terminal, which
// answers only processes of its own session.
func (t *paneTerminal) Foreground() int { return proc.Foreground(t.Program) }

// Answers implements host.Terminal.
func (t *paneTerminal) Answers() bool { return true }

// Root implements host.Terminal. After the exit is on disk, the launcher stays
// while processes that the program left still run.
func (t *paneTerminal) Root() (root, spare int) {
	if t.lost.Load() {
		return 0, t.Server
	}
	return t.Launcher, t.Server
}

// Reap implements host.Terminal: the launcher waits for the processes and
// reports.
func (t *paneTerminal) Reap(mu sync.Locker, ended func(pid int, status unix.WaitStatus), lost func()) (stop func()) {
	var loop sync.WaitGroup
	t.conn.SetReadDeadline(time.Time{})
	loop.Go(func() {
		for {
			var n news
			err := t.news.next(&n)
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
				return
			}
			mu.Lock()
			switch {
			case err != nil:
				t.lost.Store(true)
				t.stopReading()
				lost()
			case n.Ended != 0:
				ended(n.Ended, n.Status)
			case n.Gone:
				t.gone.Store(true)
				t.stopReading()
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return func() {
		t.conn.SetReadDeadline(time.Unix(1, 0))
		loop.Wait()
	}
}

// stopReading makes Read take what the pipe holds now and then end, in case the
// pipe itself does not end. It marks the terminal as gone.
func (t *paneTerminal) stopReading() {
	t.gone.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stirred.Broadcast()
	t.pipe.SetReadDeadline(time.Unix(1, 0))
}

// LetEnd implements host.Terminal: it lets the launcher print the mark. Read
// looks for the mark only from now on, so that it holds no output back before.
func (t *paneTerminal) LetEnd() {
	t.ending.Store(true)
	t.stir()
	if err := say(t.conn, order{Mark: true}); err != nil {
		t.stopReading()
	}
}

// Quiet implements host.Terminal.
func (t *paneTerminal) Quiet() time.Duration { return quietTime }

// Done implements host.Terminal: the launcher ends, and the pane with it.
func (t *paneTerminal) Done() {
	_ = say(t.conn, order{Over: true}) // on an error the launcher has ended
}

// SetDeadline implements host.Terminal.
func (t *paneTerminal) SetDeadline(d time.Time) error {
	t.input.setDeadline(d)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline = d
	t.stirred.Broadcast()
	return t.pipe.SetDeadline(d)
}

// Export implements host.Terminal.
func (t *paneTerminal) Export() (fds []uintptr, state json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range []syscall.Conn{t.conn, t.pipe, t.tty} {
		raw, err := c.SyscallConn()
		if err != nil {
			return nil, nil, err
		}
		if err := raw.Control(func(fd uintptr) { fds = append(fds, fd) }); err != nil {
			return nil, nil, err
		}
	}
	s := t.paneState
	s.Unread = t.news.unread
	state, err = json.Marshal(s)
	return fds, state, err
}

// Close implements host.Terminal. The launcher stays until Done.
func (t *paneTerminal) Close() error {
	t.gone.Store(true)
	t.input.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stirred.Broadcast()
	return errors.Join(t.pipe.Close(), t.tty.Close())
}

var _ host.Terminal = (*paneTerminal)(nil)
