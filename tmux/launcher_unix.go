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

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/terminal/host"
)

const (
	// hostLock is a lock that the launcher holds for its life. While it is held
	// the session lives, with an owner or about to get one.
	hostLock = host.LockFile
	// ownerLog is the owner's log, where an owner writes why it ended.
	ownerLog = "owner.log"
)

// modesOff resets terminal modes that would outlive the program in its pane.
// Focus reports matter most: tmux servers have crashed when they closed a pane
// with them on.
const modesOff = "\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b>\x1b[?25h"

// paneProcess is the launcher, the pane's process. It starts the program on the
// pane's terminal, outlives it, and starts a new owner if one is killed. Its
// steps:
//
//  1. dial      the owner that made the pane, and pass it the terminal
//  2. lock      take host.lock
//  3. start     the owner's program, on the pane's terminal
//  4. serve     wait for children and report their ends; if the owner ends
//     before the exit is on disk, start another
//  5. end       once the exit is on disk and no child is left
type paneProcess struct {
	dir  string
	tty  *os.File
	pipe *os.File
	told launch

	mu      sync.Mutex // guards what follows
	changed *sync.Cond // on mu
	conn    *net.UnixConn
	ended   *unix.WaitStatus // how the program ended
	gone    bool             // the terminal has ended
	kept    bool             // the session goes on without its first owner
	over    bool             // the exit is on disk
}

// runPane runs the launcher. If a user runs a pane's command again by hand, no
// owner listens: then runPane returns without a message, which would be output.
func runPane(dir, socket string) error {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE)
	l := &paneProcess{dir: dir, tty: os.Stdin}
	l.changed = sync.NewCond(&l.mu)
	owner, err := l.meetOwner(socket)
	if err != nil {
		return nil
	}
	lock, err := private.TryLock(filepath.Join(dir, hostLock))
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
	l.tell(news{Started: l.told.State.Program}) // must come before the report of its end
	go l.reap()                                 // runs until the process ends
	l.obey(owner)
	for l.needsOwner() {
		l.replaceOwner()
	}
	hangup()
	l.awaitOver()
	return nil
}

// meetOwner greets the owner that listens at socket and reads its launch
// message.
func (l *paneProcess) meetOwner(socket string) (owner *hearer, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := ipc.CheckPeer(conn); err != nil {
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
		os.Setenv(key, value) // for later owners too
	}
	l.conn = conn
	return owner, nil
}

// startProgram starts the program on the pane's terminal, in the way that
// programAttr describes.
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
	argv := spec.Command()
	cmd := &exec.Cmd{
		Path: argv[0], Args: argv, Dir: spec.Dir, Env: host.Environ(spec, termName()),
		Stdin: l.tty, Stdout: l.tty, Stderr: l.tty, SysProcAttr: programAttr(),
	}
	var err error
	host.AsFromLogin(func() { err = cmd.Start() }, func(e error) { l.log(e.Error()) })
	if err != nil {
		return err
	}
	l.told.State.Program = cmd.Process.Pid
	l.told.Spec.Env = nil // only the program needs it
	return cmd.Process.Release()
}

// tell sends n to the owner, if there is one. Otherwise nothing is lost:
// newOwner tells the next owner what matters.
func (l *paneProcess) tell(n news) {
	if l.conn != nil {
		_ = say(l.conn, n)
	}
}

// reap waits for all children until the session is over, and then ends the
// process.
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
			l.changed.Wait() // until there is a child again: a new owner is one too
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

// terminalGone reports to the owner that tmux has closed the pane.
func (l *paneProcess) terminalGone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.tell(news{Gone: true})
}

// obey carries out the owner's orders until the owner ends.
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
			go l.mark() // in a goroutine, because the write blocks while tmux does not read
		}
		if o.Pipe {
			l.takePipe(owner)
		}
	}
}

// takePipe keeps a new pipe, for an owner that replaces this one.
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
	// If this fails the terminal has ended, and so has the output.
	_, _ = l.tty.Write(append(bytes.Clone(l.told.State.Mark), modesOff...))
}

// needsOwner reports whether the session must get another owner. If the first
// owner ended before it told the launcher to keep the session, the start has
// failed: needsOwner then kills the program and ends this process.
func (l *paneProcess) needsOwner() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
	if !l.kept {
		killProgram(l.told.State.Program)
		unix.Exit(1)
	}
	return !l.over
}

// killProgram kills the process group of the program. This is the program's own
// on Linux, and also the launcher's where programAttr keeps the program in it.
func killProgram(program int) {
	group, err := unix.Getpgid(program)
	if err != nil {
		group = program // it has ended; its group may have other processes
	}
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGCONT, unix.SIGKILL} {
		_ = unix.Kill(-group, sig)
	}
}

// awaitOver blocks for ever: reap ends the process.
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
	// firstRetry and lastRetry are the first and the longest wait before the
	// next try to replace an owner, if the new owner ends early too.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
	// livedTime is after how long a new owner does not count as ended early.
	livedTime = 10 * time.Second
)

// replaceOwner starts another owner and serves it until it ends. It retries
// until one lived for livedTime or none is needed.
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
	f, err := private.Append(filepath.Join(l.dir, ownerLog))
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s launcher: %s\n", time.Now().Format(time.RFC3339), text)
}

// newOwner starts an owner, sends it the state, and serves it until it ends.
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
	theirs.Close() // otherwise the connection would not end with the owner
	if err != nil {
		conn.Close()
		return err
	}
	l.mu.Lock()
	l.conn = conn
	l.changed.Broadcast() // reap has a child to wait for
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

// runOwner starts the owner process, which inherits the connection, the pipe
// and the terminal.
func (l *paneProcess) runOwner(conn *os.File) error {
	exe, err := executable()
	if err != nil {
		return err
	}
	log, err := private.Append(filepath.Join(l.dir, ownerLog))
	if err != nil {
		return err
	}
	defer log.Close()
	input, again, err := os.Pipe()
	if err != nil {
		return err
	}
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
	go func() { // ends when the owner has read everything, or has ended
		defer again.Close()
		_, _ = again.Write(l.told.Again)
	}()
	return cmd.Process.Release()
}

// adoptFD is the first of three descriptors that an adopting owner inherits:
// the connection, the pipe and the terminal.
const adoptFD = 3

// runPipe passes its standard input, which is the pane's pipe, to the owner.
func runPipe(socket string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := ipc.CheckPeer(conn); err != nil {
		return err
	}
	if err := sendFile(conn, greeting{Role: rolePipe}, os.Stdin); err != nil {
		return err
	}
	_, _ = conn.Read(make([]byte, 1)) // returns once the owner has it and closes the connection
	return nil
}
