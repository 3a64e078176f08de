//go:build unix

package tmux

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
	"middleman/terminal"
	"middleman/terminal/host"
)

// quietTime is how long nothing must come after the program's end where the
// mark does not: the tmux server is stopped then, or was killed.
const quietTime = 5 * time.Second

// paneState is what an image that takes over has to know of a pane.
type paneState struct {
	Pane     string      `json:"pane"`
	Server   int         `json:"server"`
	Launcher int         `json:"launcher"`
	Program  int         `json:"program"`
	Mark     []byte      `json:"mark"`
	Tmux     inputServer `json:"tmux"`
	// PipeSocket is where a new pipe's helper meets the owner.
	PipeSocket string `json:"pipe_socket"`
	Unread     []byte `json:"unread,omitempty"` // of what the launcher said
}

// paneTerminal implements host.Terminal: a pane, of which the output comes
// through its pipe and the input goes through the server's one control client.
type paneTerminal struct {
	paneState
	conn  *net.UnixConn // the launcher
	news  *hearer       // what it says
	pipe  *os.File
	raw   syscall.RawConn // of pipe
	tty   *os.File
	input *input
	ahead int // typed since the program was last seen to have read all; guarded by input.whole

	mu       sync.Mutex // guards what follows, and pipe and raw
	stirred  *sync.Cond // on mu: a deadline, the end of the terminal, LetEnd
	deadline time.Time
	window   terminal.Size // what tmux is to be told
	resizing bool          // somebody tells it

	ending atomic.Bool // LetEnd was called: the mark comes
	marks  *markScanner
	late   int         // bytes that were read after the end of the terminal
	gone   atomic.Bool // tmux has closed the pane's terminal
	lost   atomic.Bool // the launcher has ended
}

// open makes what a terminal has of its descriptors usable.
func (t *paneTerminal) open() error {
	t.stirred = sync.NewCond(&t.mu)
	t.marks = &markScanner{mark: t.Mark}
	t.input = &input{server: t.Tmux, pid: t.Server, launcher: t.Launcher}
	pipe := t.pipe
	t.pipe = nil
	return t.usePipe(pipe)
}

// Read implements host.Terminal. Before the program's end the bytes are not
// looked at; after it the mark is the end.
func (t *paneTerminal) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil {
		if t.marks.found {
			return 0, io.EOF
		}
		room := p[:len(p)-len(t.Mark)] // for what was held back
		if n, err = t.readPipe(room); t.ending.Load() {
			n = copy(p, t.marks.scan(p[:n]))
			if err == io.EOF {
				n += copy(p[n:], t.marks.rest())
			}
		} else if err == io.EOF && n == 0 {
			err = t.awaitPipe()
		}
	}
	return n, err
}

// Readable implements host.Terminal.
func (t *paneTerminal) Readable() bool {
	fds := []unix.PollFd{{Events: unix.POLLIN}}
	err := t.rawPipe().Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		unix.Poll(fds, 0) // interrupted, it says nothing
	})
	return err == nil && fds[0].Revents&unix.POLLIN != 0
}

// Write implements host.Terminal.
func (t *paneTerminal) Write(p []byte) (n int, err error) {
	if t.gone.Load() || t.lost.Load() {
		return 0, os.ErrClosed
	}
	return t.input.keys(t.Pane, p, t.room)
}

// SetSize sets the terminal's size itself, so that it holds from here. tmux sets
// its window's, which is the same again, when it comes to it.
func (t *paneTerminal) SetSize(s terminal.Size) error {
	if t.gone.Load() {
		return nil
	}
	had, err := unix.IoctlGetWinsize(int(t.tty.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return err
	}
	size := &unix.Winsize{Row: s.Rows, Col: s.Cols}
	if had.Col > 0 && had.Row > 0 { // cells of as many pixels as tmux says
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
		go t.resizeWindow() // ends when tmux has the last size, or with the terminal
	}
	return nil
}

// resizeWindow tells tmux the last size. One that cannot be told shows another
// to who attaches by hand.
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

// Foreground implements host.Terminal. The terminal itself tells its own
// session alone.
func (t *paneTerminal) Foreground() int { return proc.Foreground(t.Program) }

// Answers implements host.Terminal.
func (t *paneTerminal) Answers() bool { return true }

// Root implements host.Terminal. When the exit is on disk the launcher stays
// for what the program has left.
func (t *paneTerminal) Root() (root, spare int) {
	if t.lost.Load() {
		return 0, t.Server
	}
	return t.Launcher, t.Server
}

// Reap implements host.Terminal by what the launcher says.
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

// stopReading wakes a reader of a pipe on which nothing comes any more, where
// that has no end.
func (t *paneTerminal) stopReading() {
	t.gone.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stirred.Broadcast()
	t.pipe.SetReadDeadline(time.Unix(1, 0))
}

// LetEnd implements host.Terminal: the launcher prints the mark. It is looked
// for from now on, so that no output is held back before.
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
	_ = say(t.conn, order{Over: true}) // one that is gone needs not be told
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
