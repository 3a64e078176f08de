//go:build unix

package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/terminal/host"
)

const (
	// hostLock is held by the launcher for its life: while it is, the session
	// lives, with an owner or about to have one.
	hostLock = host.LockFile
	// ownerLog is where an owner says why it ended.
	ownerLog = "owner.log"
)

// modesOff resets what would outlive the program in its pane. Focus reports
// above all: a tmux server that closes a pane with them on has crashed.
const modesOff = "\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b>\x1b[?25h"

// paneProcess is the launcher, the pane's process: it starts the program on the pane's terminal
// and outlives it, and sees to it that there is an owner.
//
//  1. dial      the owner that has made the pane, and give it the terminal
//  2. lock      take host.lock
//  3. start     what the owner says, on the pane's terminal
//  4. serve     reap and tell; when the owner ends before the exit is on disk,
//     start another
//  5. end       when the exit is on disk and no child is left
type paneProcess struct {
	dir  string
	tty  *os.File
	pipe *os.File
	told launch

	mu      sync.Mutex // guards what follows
	changed *sync.Cond // on mu
	conn    *net.UnixConn
	ended   *unix.WaitStatus // the program's
	gone    bool             // the terminal has ended
	kept    bool             // the session goes on without its first owner
	over    bool             // the exit is on disk
}

// runPane is the launcher. A pane that somebody runs again by hand has no owner
// that listens: it ends without a word, which would be in the output.
func runPane(dir, socket string) error {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE)
	l := &paneProcess{dir: dir, tty: os.Stdin}
	l.changed = sync.NewCond(&l.mu)
	owner, err := l.meetOwner(socket)
	if err != nil {
		return nil
	}
	lock, err := takeHostLock(dir)
	if err != nil {
		return errors.Join(err, say(l.conn, news{Failed: err.Error()}))
	}
	defer lock.Close()
	if err := l.startProgram(); err != nil {
		n := news{Failed: err.Error()}
		errors.As(err, &n.Errno)
		return say(l.conn, n)
	}
	hangup := watchTerminal(l.tty, l.terminalGone)
	l.tell(news{Started: l.told.State.Program}) // before its end
	go l.reap()                                 // ends with the process
	l.obey(owner)
	for l.needsOwner() {
		l.replaceOwner()
	}
	hangup()
	l.awaitOver()
	return nil
}

// takeHostLock takes the lock that is held for the launcher's life.
func takeHostLock(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, hostLock)
	lock, err := private.Lock(path)
	if err != nil {
		return nil, err
	}
	got, err := lock.TryLock()
	if err == nil && !got {
		err = fmt.Errorf("%s is held: the session runs", path)
	}
	return lock, err
}

// meetOwner greets the owner that listens at socket and takes what it says.
func (l *paneProcess) meetOwner(socket string) (owner *hearer, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := private.CheckPeer(conn); err != nil {
		return nil, err
	}
	g := greeting{Role: rolePane, PID: os.Getpid()}
	g.Pane, g.Server = inPane()
	if err := sendFile(conn, g, l.tty); err != nil {
		return nil, err
	}
	owner = &hearer{conn: conn}
	if err := owner.next(&l.told); err != nil {
		return nil, err
	}
	if l.pipe, err = owner.file(); err != nil {
		return nil, err
	}
	for _, kv := range l.told.Env {
		key, value, _ := strings.Cut(kv, "=")
		os.Setenv(key, value) // a later owner's as well
	}
	l.conn = conn
	return owner, nil
}

// startProgram starts the program on the pane's terminal, as on any other: the
// leader of a session and foreground group of its own.
func (l *paneProcess) startProgram() error {
	proc.BecomeSubreaper()
	if err := leaveTerminal(); err != nil {
		return fmt.Errorf("give the terminal away: %w", err)
	}
	unix.Umask(l.told.Umask)
	defer unix.Umask(0o077)
	if err := private.SetCoreLimit(l.told.Core); err != nil {
		return err
	}
	defer private.SetCoreLimit(0)
	spec := l.told.Spec
	cmd := &exec.Cmd{
		Path: spec.Argv[0], Args: spec.Argv, Dir: spec.Dir, Env: host.Environ(spec, termName()),
		Stdin: l.tty, Stdout: l.tty, Stderr: l.tty, SysProcAttr: programAttr(),
	}
	var err error
	host.AsFromLogin(func() { err = cmd.Start() }, func(e error) { l.log(e.Error()) })
	if err != nil {
		return err
	}
	l.told.State.Program = cmd.Process.Pid
	l.told.Spec.Env = nil // what is in it is the program's alone
	return cmd.Process.Release()
}

// tell says n to the owner, if there is one; another learns of all that matters
// when it comes.
func (l *paneProcess) tell(n news) {
	if l.conn != nil {
		_ = say(l.conn, n)
	}
}

// reap waits for all children until the session is over.
func (l *paneProcess) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		l.mu.Lock()
		switch {
		case err == unix.EINTR:
		case err != nil && l.over:
			l.mu.Unlock()
			unix.Exit(0)
		case err != nil:
			l.changed.Wait() // a new owner is a child too
		default:
			if pid == l.told.State.Program {
				l.ended = &status
				l.changed.Broadcast()
			}
			l.tell(news{Ended: pid, Status: status})
		}
		l.mu.Unlock()
	}
}

// terminalGone tells that tmux has closed the pane.
func (l *paneProcess) terminalGone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.tell(news{Gone: true})
}

// obey does what the owner says until it ends.
func (l *paneProcess) obey(owner *hearer) {
	for {
		var o order
		if owner.next(&o) != nil {
			return
		}
		l.mu.Lock()
		l.kept = l.kept || o.Keep
		l.over = l.over || o.Over
		l.changed.Broadcast()
		l.mu.Unlock()
		if o.Mark {
			go l.mark() // tmux may not be reading
		}
		if o.Pipe {
			l.takePipe(owner)
		}
	}
}

// takePipe keeps the pipe that has come for the owner's successor.
func (l *paneProcess) takePipe(owner *hearer) {
	pipe, err := owner.file()
	if err != nil {
		l.log("a new pipe of the pane: " + err.Error())
		return
	}
	l.pipe.Close()
	l.pipe = pipe
}

// mark prints the mark after the program's last output.
func (l *paneProcess) mark() {
	unstopTerminal(l.tty)
	// Where it fails the terminal has ended, and the output with it.
	_, _ = l.tty.Write(append(bytes.Clone(l.told.State.Mark), modesOff...))
}

// needsOwner ends the program of a start that did not come about, and reports
// whether the session goes on without an owner.
func (l *paneProcess) needsOwner() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
	if !l.kept {
		for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGCONT, unix.SIGKILL} {
			_ = unix.Kill(-l.told.State.Program, sig)
		}
		unix.Exit(1)
	}
	return !l.over
}

// awaitOver waits for reap, which ends the process.
func (l *paneProcess) awaitOver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	closeTerminal()
	for {
		l.changed.Broadcast()
		l.changed.Wait()
	}
}

const (
	// firstRetry and lastRetry are how long after an owner that ended the next
	// is started, if that does not live either.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
	// livedTime is how long an owner that did live did.
	livedTime = 10 * time.Second
)

// replaceOwner starts another owner and serves it until it ends.
func (l *paneProcess) replaceOwner() {
	wait := firstRetry
	for {
		began := time.Now()
		if err := l.newOwner(); err != nil {
			l.log(fmt.Sprintf("replace the owner: %v", err))
		} else if !l.needsOwner() || time.Since(began) > livedTime {
			return
		}
		time.Sleep(wait)
		wait = min(2*wait, lastRetry)
	}
}

func (l *paneProcess) log(text string) {
	f, err := os.OpenFile(filepath.Join(l.dir, ownerLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s launcher: %s\n", time.Now().Format(time.RFC3339), text)
}

// newOwner starts an owner, tells it all, and serves it until it ends.
func (l *paneProcess) newOwner() error {
	l.log("the owner was killed; another goes on")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	ours, theirs := os.NewFile(uintptr(pair[0]), "owner"), os.NewFile(uintptr(pair[1]), "owner")
	c, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		return err
	}
	conn := c.(*net.UnixConn)
	err = l.runOwner(theirs)
	theirs.Close() // or its end would not show
	if err != nil {
		conn.Close()
		return err
	}
	l.mu.Lock()
	l.conn = conn
	l.changed.Broadcast() // there is a child to wait for
	l.tell(news{State: &l.told.State})
	if l.ended != nil {
		l.tell(news{Ended: l.told.State.Program, Status: *l.ended})
	}
	if l.gone {
		l.tell(news{Gone: true})
	}
	l.mu.Unlock()
	l.obey(&hearer{conn: conn})
	return nil
}

// runOwner starts the process, which inherits the connection, the pipe and the
// terminal.
func (l *paneProcess) runOwner(conn *os.File) error {
	exe, err := executable()
	if err != nil {
		return err
	}
	input, again, err := os.Pipe()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(l.dir, ownerLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(exe, "pty-owner", host.AdoptArg, l.dir)
	cmd.Args[0] = "middleman"
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.Stdin, cmd.Stderr = input, log
	cmd.ExtraFiles = []*os.File{conn, l.pipe, l.tty} // from adoptFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	input.Close()
	if err != nil {
		again.Close()
		return err
	}
	go func() { // ends when the owner has read it, or has ended
		defer again.Close()
		_, _ = again.Write(l.told.Again)
	}()
	return cmd.Process.Release()
}

// adoptFD is the first of the descriptors that an owner inherits which
// replaces another: connection, pipe and terminal.
const adoptFD = 3

// runPipe gives its standard input, which is the pane's pipe, to the owner.
func runPipe(socket string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := private.CheckPeer(conn); err != nil {
		return err
	}
	if err := sendFile(conn, greeting{Role: rolePipe}, os.Stdin); err != nil {
		return err
	}
	_, _ = conn.Read(make([]byte, 1)) // the owner has it
	return nil
}
