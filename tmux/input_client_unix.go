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
	// inputSession is the session that the control client is attached to. It
	// has no other client, so the control client gets no output of other
	// sessions and affects no sizes.
	inputSession = "middleman-input"
	// inputTime bounds the start of the control client.
	inputTime = 10 * time.Second
	// pollInterval is how often to look for what has no event.
	pollInterval = 5 * time.Millisecond
	// lineBytes is how many bytes go into one line, which encodes each as up to
	// 4. A line must fit one atomic write, since other owners write to the FIFO
	// too.
	lineBytes = (pipeBuf - 128) / 4
	// fewKeys is up to how many bytes are typed as keys. More bytes are faster
	// through a paste buffer; each pane has its own.
	fewKeys = 64
)

// inputServer describes a tmux server, to reach or start its control client.
type inputServer struct {
	Tmux    string `json:"tmux"`
	Socket  string `json:"socket"`
	Runtime string `json:"runtime"`
	// Sessions is the directory of the sessions' state directories.
	Sessions string `json:"sessions"`
	Paste    string `json:"paste"` // the flags of paste-buffer for a paste that changes no byte
}

// input writes commands to the one control client of a tmux server. The
// client's standard input is a FIFO. If the FIFO has no reader, the client has
// ended, and input starts it again.
type input struct {
	server   inputServer
	pid      int // of the tmux server, so that input never goes to another one
	launcher int // a child process of that server

	whole  sync.Mutex // held while all of one write is typed
	typing sync.Mutex // held to write one line

	mu       sync.Mutex // guards what follows
	fifo     *os.File
	deadline time.Time
	closed   bool
}

// fifoPattern matches the FIFOs of all tmux servers.
const fifoPattern = "tmux.*.fifo"

// fifoPath returns the path of the FIFO of one server process. Each server has
// its own, because another server uses the same pane ids again.
func (s inputServer) fifoPath(pid int) string {
	return filepath.Join(s.Runtime, fmt.Sprintf("tmux.%d.fifo", pid))
}

// keys types p into a pane, unchanged, in parts. It calls room before each
// part, which waits until the part may be typed. If someone who attached by
// hand has the pane in copy mode, keys ends that mode first, because it would
// take the keys.
func (in *input) keys(pane string, p []byte, room func(n int) error) (n int, err error) {
	in.whole.Lock()
	defer in.whole.Unlock()
	return in.keysLocked(pane, p, room)
}

// keysLocked is keys with whole held.
func (in *input) keysLocked(pane string, p []byte, room func(n int) error) (n int, err error) {
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

// appendKeys appends the line that types p as keys.
func appendKeys(line []byte, pane string, p []byte) []byte {
	line = append(line, "if -F -t "+pane+" '#{pane_in_mode}' 'send -X -t "+pane+" cancel' ; send -H -t "+pane...)
	for _, b := range p {
		line = append(line, ' ', hexDigits[b>>4], hexDigits[b&15])
	}
	return append(line, '\n')
}

// appendPaste appends the line that puts p into a buffer, pastes it unchanged,
// and deletes it. p must hold no NUL, as no buffer can.
func (in *input) appendPaste(line []byte, pane string, p []byte) []byte {
	buffer := "middleman" + pane[1:]
	line = append(line, "setb -b "+buffer+` -- "`...)
	for _, b := range p {
		line = append(line, '\\', '0'+b>>6, '0'+b>>3&7, '0'+b&7)
	}
	return append(line, `" ; pasteb `+in.server.Paste+" -b "+buffer+" -t "+pane+"\n"...)
}

const hexDigits = "0123456789abcdef"

// command lets the control client run one command.
func (in *input) command(line string) error { return in.write([]byte(line + "\n")) }

// write writes a line to the control client, and starts the client if none
// runs.
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

// open returns the FIFO of a running client, which it starts if necessary.
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

// hasClient reports whether the server with a process id has a control client.
func (s inputServer) hasClient(pid int) bool {
	f, err := openFIFO(s.fifoPath(pid))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// ready starts the client if none runs.
func (in *input) ready() error {
	in.typing.Lock()
	defer in.typing.Unlock()
	_, err := in.open()
	return err
}

// reviveTime bounds how long a tmux server may take to create its socket again.
const reviveTime = 2 * time.Second

// paneFile is a file in a session's state directory that holds the process ids
// of its tmux server and its launcher.
const paneFile = "pane"

// revive makes the tmux server create its socket again if that was removed, as
// cleaners of temporary directories and logouts do. Otherwise another server
// would be started beside it. tmux does so on SIGUSR1 (tmux(1)). revive knows
// the server as the parent of a launcher that holds its session's lock. It
// reports no error: if it fails, the next command for the server fails.
func revive(ctx context.Context, sessions string, c client) {
	if _, err := os.Lstat(c.socket); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reviveTime)
	defer cancel()
	panes, _ := filepath.Glob(filepath.Join(sessions, "*", paneFile)) // Glob fails only for a bad pattern
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

// awaitSocket waits until something listens, and polls because there is no
// event.
func (c client) awaitSocket(ctx context.Context) bool {
	tick := time.NewTicker(pollInterval)
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

// openFIFO opens a FIFO for writing. It fails with ENXIO if nothing reads the
// FIFO (fifo(7)).
func openFIFO(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
}

// setDeadline sets the deadline of writes; it wakes one that blocks already.
func (in *input) setDeadline(t time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deadline = t
	if in.fifo != nil {
		_ = in.fifo.SetDeadline(t) // fails if it is closed, and then no write blocks
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

// locked calls do while no other process starts a control client or makes a
// session. In tmux up to 3.3 at least, the server crashes with all its sessions
// if something happens to a session while a control client connects.
func (s inputServer) locked(ctx context.Context, do func() error) error {
	if err := private.MakeDir(s.Runtime); err != nil {
		return err
	}
	lock, err := private.AwaitLock(ctx, filepath.Join(s.Runtime, "tmux.in.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	return do()
}

// restart starts the control client if it has ended. It returns os.ErrClosed if
// the server has ended too.
func (in *input) restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), inputTime)
	defer cancel()
	s := in.server
	return s.locked(ctx, func() error {
		if s.hasClient(in.pid) {
			return nil // another process has started it
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
		// An earlier client may have left its session, whose name we need.
		_, _ = c.run(ctx, "kill-session", "-t", "="+inputSession)
		return s.startClient(ctx, c, c.run)
	})
}

// serverLives reports whether the tmux server still runs.
func (in *input) serverLives() bool { return in.pid != 0 && proc.Parent(in.launcher) == in.pid }

// startClient starts the control client, and the server if none runs, and waits
// until the server executes the client's commands. Called by locked.
func (s inputServer) startClient(ctx context.Context, c client, run func(context.Context, ...string) (string, error)) error {
	s.removeStale()
	// The FIFO gets its final name once the server's process id is known.
	fifo := filepath.Join(s.Runtime, "tmux.new.fifo")
	if err := os.Remove(fifo); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return fmt.Errorf("make %s: %w", fifo, err)
	}
	defer os.Remove(fifo)
	// Standard error stays connected to the pane, and so keeps it open.
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

// removeStale removes the FIFOs of servers that have ended. Called by locked.
// The FIFO of a client that has just ended is made again with its next client.
func (s inputServer) removeStale() {
	fifos, _ := filepath.Glob(filepath.Join(s.Runtime, fifoPattern)) // Glob fails only for a bad pattern
	for _, path := range fifos {
		if f, err := openFIFO(path); err == nil {
			f.Close()
		} else if errors.Is(err, unix.ENXIO) {
			_ = os.Remove(path) // a FIFO that stays does no harm
		}
	}
}

// awaitReader opens the FIFO once it has a reader, and polls as there is no
// event.
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
