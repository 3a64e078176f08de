//go:build unix

package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/proc"
)

const (
	// inputSession is the session that the control client is attached to: a
	// session of its own, which nobody looks at, so that no output and no size
	// of another one concerns it.
	inputSession = "middleman-input"
	// inputTime is how long the control client may take to be there.
	inputTime = 10 * time.Second
	// lockInterval is how often a lock is tried, for which a context cannot wait.
	lockInterval = 5 * time.Millisecond
	// lineBytes is how many bytes go into one line, of which each takes up to 4:
	// it must be written at once, since other owners write to the FIFO too.
	lineBytes = (pipeBuf - 128) / 4
	// fewKeys is how many bytes are typed as keys: more is quicker by a buffer
	// of tmux's, of which each has one line.
	fewKeys = 64
)

// inputServer is how to start the control client of a server.
type inputServer struct {
	Tmux    string `json:"tmux"`
	Socket  string `json:"socket"`
	Runtime string `json:"runtime"`
	// Sessions is the directory of the sessions' state directories.
	Sessions string `json:"sessions"`
	Paste    string `json:"paste"` // the flags that paste a buffer as it is
}

// input writes commands to the one control client of a tmux server. The client
// has a FIFO for its standard input, which the server reads; a FIFO that nobody
// reads says that the client has ended, and it is started again.
type input struct {
	server   inputServer
	pid      int // the tmux server's, so that no other one is typed at
	launcher int // a process that is that one's child

	whole  sync.Mutex // held for all that is typed at once
	typing sync.Mutex // held for a line

	mu       sync.Mutex // guards what follows
	fifo     *os.File
	deadline time.Time
	closed   bool
}

// fifoPattern matches the FIFOs of all servers.
const fifoPattern = "tmux.*.fifo"

// fifoPath is of one server alone: ids of panes begin anew with another.
func (s inputServer) fifoPath(pid int) string {
	return filepath.Join(s.Runtime, fmt.Sprintf("tmux.%d.fifo", pid))
}

// keys types p at a pane, byte by byte as it is, each part once there is room
// for it. Who looks back in the pane by hand is brought to its end first: the
// keys would be the copy mode's.
func (in *input) keys(pane string, p []byte, room func(n int) error) (n int, err error) {
	in.whole.Lock()
	defer in.whole.Unlock()
	line := make([]byte, 0, 4096)
	for n < len(p) {
		part := p[n:min(n+lineBytes, len(p))]
		if err := room(len(part)); err != nil {
			return n, err
		}
		if len(part) <= fewKeys || bytes.IndexByte(part, 0) >= 0 {
			line = appendKeys(line[:0], pane, part)
		} else {
			line = in.appendPaste(line[:0], pane, part)
		}
		if err := in.write(line); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// appendKeys is the line that types p as keys.
func appendKeys(line []byte, pane string, p []byte) []byte {
	line = append(line, "if -F -t "+pane+" '#{pane_in_mode}' 'send -X -t "+pane+" cancel' ; send -H -t "+pane...)
	for _, b := range p {
		line = append(line, ' ', hexDigits[b>>4], hexDigits[b&15])
	}
	return append(line, '\n')
}

// appendPaste is the line that puts p into a buffer, pastes that as it is, and
// deletes it. No buffer holds a NUL.
func (in *input) appendPaste(line []byte, pane string, p []byte) []byte {
	buffer := "middleman" + pane[1:]
	line = append(line, "setb -b "+buffer+` -- "`...)
	for _, b := range p {
		line = append(line, '\\', '0'+b>>6, '0'+b>>3&7, '0'+b&7)
	}
	return append(line, `" ; pasteb `+in.server.Paste+" -b "+buffer+" -t "+pane+"\n"...)
}

const hexDigits = "0123456789abcdef"

// command has the control client run one command.
func (in *input) command(line string) error { return in.write([]byte(line + "\n")) }

// write writes a line, to a client that is started where there is none.
func (in *input) write(line []byte) error {
	in.typing.Lock()
	defer in.typing.Unlock()
	for first := true; ; first = false {
		f, err := in.open()
		if err != nil {
			return err
		}
		_, err = f.Write(line)
		if !errors.Is(err, unix.EPIPE) || !first {
			return err
		}
		in.mu.Lock()
		in.fifo = nil
		in.mu.Unlock()
		f.Close()
	}
}

// open opens the FIFO of a client that reads it.
func (in *input) open() (*os.File, error) {
	in.mu.Lock()
	f, closed := in.fifo, in.closed
	in.mu.Unlock()
	if closed {
		return nil, os.ErrClosed
	}
	if f != nil {
		return f, nil
	}
	path := in.server.fifoPath(in.pid)
	f, err := openFIFO(path)
	if err != nil {
		if err = in.restart(); err != nil {
			return nil, fmt.Errorf("start tmux's control client: %w", err)
		}
		if f, err = openFIFO(path); err != nil {
			return nil, err
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		f.Close()
		return nil, os.ErrClosed
	}
	in.fifo = f
	return f, f.SetDeadline(in.deadline)
}

// reviveTime is how long a tmux server may take to make its socket again.
const reviveTime = 2 * time.Second

// paneFile says, in a session's state directory, which processes its tmux server
// and its launcher are.
const paneFile = "pane"

// revive has the tmux server make its socket again where somebody has removed
// that, as cleaners of temporary directories and logouts do: another server would
// be started beside it. tmux does so on SIGUSR1 (tmux(1)). The server is known as
// the parent of a launcher, which holds its session's lock. What does not help
// shows when the server is asked for something.
func revive(ctx context.Context, sessions string, c client) {
	if _, err := os.Lstat(c.socket); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reviveTime)
	defer cancel()
	panes, _ := filepath.Glob(filepath.Join(sessions, "*", paneFile)) // the pattern is right
	for _, path := range panes {
		var server, launcher int
		data, err := private.ReadFile(path)
		if err == nil {
			_, err = fmt.Sscan(string(data), &server, &launcher)
		}
		if err != nil || server <= 1 || proc.Parent(launcher) != server {
			continue
		}
		if held, err := private.IsHeld(filepath.Join(filepath.Dir(path), hostLock)); err != nil || !held {
			continue
		}
		if unix.Kill(server, unix.SIGUSR1) == nil && c.awaitSocket(ctx) {
			return
		}
	}
}

// awaitSocket waits until somebody listens, which tells nobody.
func (c client) awaitSocket(ctx context.Context) bool {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for !c.listening() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// openFIFO opens a FIFO for writing, if somebody reads it (fifo(7)).
func openFIFO(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
}

// setDeadline wakes whoever writes, from t on.
func (in *input) setDeadline(t time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deadline = t
	if in.fifo != nil {
		_ = in.fifo.SetDeadline(t) // closed, it blocks nobody
	}
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if in.fifo != nil {
		in.fifo.Close()
	}
}

// locked calls do while nobody else starts a control client or makes a session:
// tmux up to 3.3 at least crashes, with every session, where something happens
// to a session while a control client says who it is.
func (s inputServer) locked(ctx context.Context, do func() error) error {
	if err := private.MakeDir(s.Runtime); err != nil {
		return err
	}
	lock, err := private.Lock(filepath.Join(s.Runtime, "tmux.in.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if ok, err := lock.TryLockContext(ctx, lockInterval); !ok {
		return fmt.Errorf("take %s: %w", lock.Path(), err)
	}
	return do()
}

// restart starts the control client, where it has ended. A server that has ended
// too is os.ErrClosed.
func (in *input) restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), inputTime)
	defer cancel()
	s := in.server
	return s.locked(ctx, func() error {
		if f, err := openFIFO(s.fifoPath(in.pid)); err == nil {
			return f.Close() // by somebody else
		}
		c := client{tmux: s.Tmux, socket: s.Socket}
		revive(ctx, s.Sessions, c)
		there, err := c.run(ctx, "display-message", "-p", "#{pid}")
		if (errors.Is(err, errNoServer) || err == nil && there != fmt.Sprintln(in.pid)) && !in.serverLives() {
			return os.ErrClosed
		}
		if err != nil {
			return err
		}
		if there != fmt.Sprintln(in.pid) {
			return fmt.Errorf("another tmux server listens at %s", s.Socket)
		}
		// What is left of an earlier one has a name that is needed.
		_, _ = c.run(ctx, "kill-session", "-t", "="+inputSession)
		return s.startClient(ctx, c, c.run)
	})
}

// serverLives reports whether the tmux server does.
func (in *input) serverLives() bool { return in.pid != 0 && proc.Parent(in.launcher) == in.pid }

// startClient starts the control client, and with it the server where none
// runs, and waits until it is heard. Called locked.
func (s inputServer) startClient(ctx context.Context, c client, run func(context.Context, ...string) (string, error)) error {
	s.removeStale()
	// It gets the name that others know when the server's process is known.
	fifo := filepath.Join(s.Runtime, "tmux.new.fifo")
	if err := os.Remove(fifo); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return fmt.Errorf("make %s: %w", fifo, err)
	}
	defer os.Remove(fifo)
	// Standard error keeps the pane open.
	script := fmt.Sprintf("unset TMUX TMUX_PANE; exec %s -u -S %s -C attach-session -t =%s 0<>%s >/dev/null",
		shellQuote(s.Tmux), shellQuote(s.Socket), inputSession, shellQuote(fifo))
	out, err := run(ctx, "new-session", "-d", "-P", "-F", "#{pid}", "-s", inputSession, "-x", "80", "-y", "24", "--", "/bin/sh", "-c", script,
		";", "set-option", "-t", "="+inputSession+":", ownerOption, inputSession)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return fmt.Errorf("make a session for input: tmux printed %q", out)
	}
	if err := os.Link(fifo, s.fifoPath(pid)); err != nil {
		return err
	}
	f, err := awaitReader(ctx, s.fifoPath(pid))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString("wait-for -S " + inputSession + "\n"); err != nil {
		return err
	}
	_, err = c.run(ctx, "wait-for", inputSession)
	return err
}

// removeStale removes the FIFOs of servers that have ended. Called with the lock
// held; a client that has just ended makes its own anew.
func (s inputServer) removeStale() {
	fifos, _ := filepath.Glob(filepath.Join(s.Runtime, fifoPattern)) // the pattern is right
	for _, path := range fifos {
		if f, err := openFIFO(path); err == nil {
			f.Close()
		} else if errors.Is(err, unix.ENXIO) {
			_ = os.Remove(path) // it does no harm
		}
	}
}

// awaitReader waits until somebody has opened the FIFO, which tells nobody.
func awaitReader(ctx context.Context, path string) (*os.File, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if f, err := openFIFO(path); err == nil {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("nobody reads %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}
